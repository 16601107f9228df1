"""Add tags, groups and notes of jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Upgrades to revision 0014."""
    op.add_column("jobs", sa.Column("tags", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("jobs", sa.Column("group_name", sa.String(80)))
    op.add_column("jobs", sa.Column("notes", sa.Text(), nullable=False, server_default=""))
    op.create_index("ix_jobs_group_name", "jobs", ["group_name"])
