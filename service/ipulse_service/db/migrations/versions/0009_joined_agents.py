"""Add join tokens, agents that have joined, and drains."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Upgrades to revision 0009."""
    for column in (
        sa.Column("labels", sa.Text(), nullable=False, server_default="{}"),
        sa.Column("version", sa.String(64), nullable=False, server_default=""),
        sa.Column("joined_at", sa.BigInteger()),
        sa.Column("join_token_id", sa.String(32)),
        sa.Column("instance_sha256", sa.String(64)),
        sa.Column("draining_at", sa.BigInteger()),
        sa.Column("drain_until", sa.BigInteger()),
    ):
        op.add_column("agents", column)
    op.add_column("tokens", sa.Column("agent", sa.String(128)))
    op.create_table(
        "join_tokens",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_join_tokens"),
    )
