"""Add the rules of the fingerprints of idempotency keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Upgrades to revision 0041."""
    for table in ("idempotency_keys", "sweeps"):
        op.add_column(
            table, sa.Column("fingerprint_rule", sa.Integer(), nullable=False, server_default="0")
        )
