"""Add priorities, deadlines, counted losses, expiring keys and agents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Upgrades to revision 0002."""
    for column in (
        sa.Column("priority", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("losses", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("queue_seconds", sa.Integer()),
        sa.Column("run_seconds", sa.Integer()),
        sa.Column("total_seconds", sa.Integer()),
        sa.Column("deadline_at", sa.BigInteger()),
    ):
        op.add_column("jobs", column)
    # Before this revision, every attempt but the current one had been lost.
    op.execute("UPDATE jobs SET losses = attempt - 1 WHERE attempt > 1")
    op.create_index("ix_jobs_deadline_at", "jobs", ["deadline_at"])
    op.create_index(
        "ix_jobs_state_device_priority_state_since",
        "jobs",
        ["state", "device", "priority", "state_since"],
    )
    op.create_index("ix_jobs_created_at", "jobs", ["created_at"])
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])
    op.create_index("ix_idempotency_keys_job_pk", "idempotency_keys", ["job_pk"])
    op.create_index("ix_outbox_job_pk", "outbox", ["job_pk"])
    op.create_table(
        "agents",
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("device_kinds", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_agents"),
    )
