"""Add the roles that people have by groups of an OpenID Connect provider."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    """Upgrades to revision 0055."""
    op.create_table(
        "group_members",
        sa.Column("project", sa.String(64), nullable=False),
        sa.Column("principal", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "principal", name="pk_group_members"),
    )
    op.create_index("ix_group_members_principal", "group_members", ["principal"])
