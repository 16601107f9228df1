"""Add which tokens may submit code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Upgrades to revision 0024."""
    column: sa.Column[bool] = sa.Column(
        "submit_code", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("tokens", column)
