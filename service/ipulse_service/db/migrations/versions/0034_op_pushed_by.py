"""Add who pushed a custom op."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Upgrades to revision 0034."""
    op.add_column("ops", sa.Column("pushed_by", sa.String(128)))
