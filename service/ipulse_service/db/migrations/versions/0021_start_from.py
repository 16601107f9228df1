"""Add the file of another job that a job starts from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Upgrades to revision 0021."""
    op.add_column("jobs", sa.Column("start_from", sa.Text))
    op.add_column("jobs", sa.Column("start_sha256", sa.String(64)))
    op.create_index("ix_jobs_start_sha256", "jobs", ["start_sha256"])
