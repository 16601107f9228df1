"""Add which uploaded data sets agents keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Upgrades to revision 0023."""
    op.add_column("agents", sa.Column("cached", sa.Text(), nullable=False, server_default="[]"))
