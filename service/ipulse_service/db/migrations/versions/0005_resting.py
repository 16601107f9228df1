"""Add the devices that an agent does not use."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Upgrades to revision 0005."""
    column = sa.Column("resting", sa.Text(), nullable=False, server_default="[]")
    op.add_column("agents", column)
