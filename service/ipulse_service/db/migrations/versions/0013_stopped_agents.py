"""Add when agents signed off."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Upgrades to revision 0013."""
    op.add_column("agents", sa.Column("stopped_at", sa.BigInteger(), nullable=True))
