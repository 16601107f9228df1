"""Add when a sweep continued after its end, and how many checks of a data set have begun."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Upgrades to revision 0029."""
    op.add_column("sweeps", sa.Column("continued_at", sa.BigInteger))
    op.add_column(
        "dataset_versions", sa.Column("checks", sa.Integer, nullable=False, server_default="0")
    )
