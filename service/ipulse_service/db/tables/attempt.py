"""Tables of attempts, and of the events and files that they leave."""

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

attempts = Table(
    "attempts",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("agent", String(128), nullable=False),
    Column("fence_sha256", String(64), nullable=False),  # the token is not stored
    Column("lease_expires_at", BigInteger, nullable=False),
    Column("next_event", BigInteger, nullable=False, default=1),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),  # null: this attempt holds the job
    Column("reason", String(64)),
    Column("message", Text, nullable=False, default=""),
    Column("summary", Text),
    Column("protocol", Integer, nullable=False, server_default="0"),  # of its agent; 0: unknown
    # Which one renewed the lease last; "": the only one of a database that is not shared.
    Column("replica", String(32), nullable=False, server_default=""),
    UniqueConstraint("job_pk", "number"),
    Index("ix_attempts_fence_sha256", "fence_sha256"),
    Index("ix_attempts_finished_at_lease_expires_at", "finished_at", "lease_expires_at"),
)

events = Table(
    "events",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),
    Column("attempt", Integer),  # null: an event outside of attempts
    Column("kind", String(32), nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,  # stored in the order in which they are read
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False, index=True),
    Column("attempt_pk", ForeignKey("attempts.pk"), nullable=False),
    Column("name", String(128), nullable=False),
    Column("role", String(32), nullable=False),
    Column("media_type", String(128), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("attempt_pk", "name"),
    sqlite_autoincrement=True,
)
