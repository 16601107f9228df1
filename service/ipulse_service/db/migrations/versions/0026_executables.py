"""Add which executable a job of a sweep compiles, so that others can wait for it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Upgrades to revision 0026."""
    op.add_column("sweep_jobs", sa.Column("executable", sa.String(64)))
    op.create_index("ix_sweep_jobs_executable", "sweep_jobs", ["executable"])
