"""Add which jobs of trials are repeated, and the time of agents on those that were replaced."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Upgrades to revision 0044."""
    op.add_column(
        "sweep_jobs", sa.Column("repeats", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column(
        "sweep_jobs", sa.Column("replaced_ms", sa.BigInteger, nullable=False, server_default="0")
    )
