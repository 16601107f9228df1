"""The table of the custom ops of users."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table, Text

from ipulse_service.db.tables.base import KEY, metadata

ops = Table(
    "ops",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),  # of the package
    Column("size", BigInteger, nullable=False),
    Column("manifest", Text, nullable=False),  # op.json
    Column("created_at", BigInteger, nullable=False),
    Column("pushed_by", String(128)),  # name of the token; null: an older version stored it
    sqlite_autoincrement=True,
)
