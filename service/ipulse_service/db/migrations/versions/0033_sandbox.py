"""Add whether agents have a sandbox for code of users, and whether jobs need one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Upgrades to revision 0033."""
    op.add_column("agents", sa.Column("sandbox", sa.String(16)))
    op.add_column(
        "agents", sa.Column("sandbox_message", sa.Text, nullable=False, server_default="")
    )
    op.add_column(
        "jobs", sa.Column("sandbox", sa.Boolean, nullable=False, server_default=sa.false())
    )
