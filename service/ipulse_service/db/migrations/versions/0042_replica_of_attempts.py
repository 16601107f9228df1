"""Add the replica of the service that an attempt's agent talks to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    """Upgrades to revision 0042."""
    op.add_column(
        "attempts", sa.Column("replica", sa.String(32), nullable=False, server_default="")
    )
