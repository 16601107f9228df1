"""Add the token that added a version of a data set: checks take turns by token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """Upgrades to revision 0043."""
    op.add_column("dataset_versions", sa.Column("token", sa.String(128)))
