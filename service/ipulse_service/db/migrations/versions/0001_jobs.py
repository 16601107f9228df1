"""Add jobs, attempts, events, artifacts, the outbox and idempotency keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0001."""
    op.create_table(
        "jobs",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(64)),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("device", sa.String(32), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("spec_sha256", sa.String(64), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Text()),
        sa.Column("summary", sa.Text()),
        sa.Column("phase_ms", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("state_since", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger()),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_jobs"),
        sa.UniqueConstraint("id", name="uq_jobs_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_state_pk", "jobs", ["state", "pk"])
    op.create_index("ix_jobs_state_device_state_since", "jobs", ["state", "device", "state_since"])
    op.create_table(
        "attempts",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("agent", sa.String(128), nullable=False),
        sa.Column("fence_sha256", sa.String(64), nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=False),
        sa.Column("next_event", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("reason", sa.String(64)),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text()),
        sa.PrimaryKeyConstraint("pk", name="pk_attempts"),
        sa.UniqueConstraint("id", name="uq_attempts_id"),
        sa.UniqueConstraint("job_pk", "number", name="uq_attempts_job_pk_number"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_attempts_job_pk_jobs"),
    )
    op.create_index(
        "ix_attempts_finished_at_lease_expires_at", "attempts", ["finished_at", "lease_expires_at"]
    )
    op.create_table(
        "events",
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer()),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job_pk", "seq", name="pk_events"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_events_job_pk_jobs"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "artifacts",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("attempt_pk", _KEY, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("role", sa.String(32), nullable=False),
        sa.Column("media_type", sa.String(128), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_artifacts"),
        sa.UniqueConstraint("id", name="uq_artifacts_id"),
        sa.UniqueConstraint("attempt_pk", "name", name="uq_artifacts_attempt_pk_name"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_artifacts_job_pk_jobs"),
        sa.ForeignKeyConstraint(
            ["attempt_pk"], ["attempts.pk"], name="fk_artifacts_attempt_pk_attempts"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_artifacts_job_pk", "artifacts", ["job_pk"])
    op.create_index("ix_artifacts_sha256", "artifacts", ["sha256"])
    op.create_table(
        "outbox",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("job_pk", _KEY, nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_outbox"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_outbox_job_pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("caller", sa.String(64), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("caller", "key", name="pk_idempotency_keys"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_idempotency_keys_job_pk_jobs"),
    )
