"""Tables of the data sets of users, and of files that they upload."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from ipulse_service.db.tables.base import KEY, metadata

# Data sets of users. A name keeps its row, so that numbers of versions are never used again.
datasets = Table(
    "datasets",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("name", String(128), nullable=False, unique=True),
    Column("last_version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("dataset_pk", ForeignKey("datasets.pk"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),  # see `datasets/versions.py`
    Column("kind", String(32)),  # of data in specs; null: not known
    Column("facts", Text),  # JSON; null: not known
    Column("refusal", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("checked_at", BigInteger),
    Column("checks", Integer, nullable=False, server_default="0"),  # that have begun
    Column("claimed_at", BigInteger),  # when a replica last said that it checks the version
    Column("token", String(128)),  # that added it; checks take turns by token
    UniqueConstraint("dataset_pk", "number"),
    Index("ix_dataset_versions_state", "state", "pk"),
    sqlite_autoincrement=True,
)

# A few samples of each version, to look at.
dataset_samples = Table(
    "dataset_samples",
    metadata,
    Column("version_pk", ForeignKey("dataset_versions.pk"), primary_key=True),
    Column("sample", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),  # JSON
)

# Files of users on their way into the store, or there and not used yet.
uploads = Table(
    "uploads",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("caller", String(128), nullable=False),
    Column("purpose", String(32), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("completed_at", BigInteger),  # null: bytes are missing
)
