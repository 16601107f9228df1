"""Rename `agents.resting` to `agents.quarantined`."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Upgrades to revision 0007."""
    op.execute("ALTER TABLE agents RENAME COLUMN resting TO quarantined")
