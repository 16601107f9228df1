"""Add the job for which an attempt is asked to stop."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    """Upgrades to revision 0057."""
    op.add_column("attempts", sa.Column("preempted_for", sa.String(64)))
