"""Add when a job was imported from an archive, and from which."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Upgrades to revision 0025."""
    op.add_column("jobs", sa.Column("imported_at", sa.BigInteger))
    op.add_column("jobs", sa.Column("imported_sha256", sa.String(64)))
