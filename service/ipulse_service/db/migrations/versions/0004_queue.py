"""Add the position in the queue, and a table to test writing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Upgrades to revision 0004."""
    column = sa.Column("queued_at", sa.BigInteger(), nullable=False, server_default="0")
    op.add_column("jobs", column)
    op.execute("UPDATE jobs SET queued_at = created_at")
    op.drop_index("ix_jobs_state_device_priority_state_since", "jobs")
    columns = ["state", "device", "priority", "queued_at", "pk"]
    op.create_index("ix_jobs_queue", "jobs", columns)
    op.create_table(
        "trials",
        sa.Column("pk", sa.Integer(), nullable=False),
        sa.Column("tried_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_trials"),
    )
