"""Add the reading of the machine's own clock to the offsets of the database's clock."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Upgrades to revision 0032."""
    op.add_column("clock_eras", sa.Column("boot_id", sa.String(64)))
    op.add_column("clock_eras", sa.Column("booted_ms", sa.BigInteger))
