"""The tables of the custom ops of users, and of those that jobs use."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table, Text

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

job_ops = Table(
    "job_ops",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("sha256", String(64), primary_key=True, index=True),  # of the package, which is kept
    Column("name", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
)
