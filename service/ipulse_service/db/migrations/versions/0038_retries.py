"""Add when users retried jobs, and how long agents had held them before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Upgrades to revision 0038."""
    op.add_column("jobs", sa.Column("retried_at", sa.BigInteger))
    op.add_column(
        "jobs", sa.Column("retried_run_ms", sa.BigInteger, nullable=False, server_default="0")
    )
