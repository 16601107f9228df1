"""Add the labels that the agent of a job must have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Upgrades to revision 0031."""
    op.add_column("jobs", sa.Column("where_labels", sa.Text))
    op.drop_index("ix_jobs_queue", "jobs")
    columns = ["state", "device", "priority", "queued_at", "pk", "ipus", "data_set", "where_labels"]
    op.create_index("ix_jobs_queue", "jobs", [*columns, "state_since"])
