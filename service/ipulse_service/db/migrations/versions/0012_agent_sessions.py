"""Add the sessions of agents that have joined."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Upgrades to revision 0012."""
    column = sa.Column("sessions", sa.Text(), nullable=False, server_default="[]")
    op.add_column("agents", column)
