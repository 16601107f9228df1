"""Add the faults of agents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Upgrades to revision 0010."""
    for column in (
        sa.Column("fault_reason", sa.String(64)),
        sa.Column("fault_message", sa.Text()),
        sa.Column("fault_since", sa.BigInteger()),
    ):
        op.add_column("agents", column)
