"""Add webhooks and what is to be delivered to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """Upgrades to revision 0048."""
    key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "webhooks",
        sa.Column("pk", key, nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("url", sa.String(2048), nullable=False),
        sa.Column("form", sa.String(16), nullable=False),
        sa.Column("types", sa.Text(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(256), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_webhooks"),
        sa.UniqueConstraint("id", name="uq_webhooks_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "deliveries",
        sa.Column("pk", key, nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("webhook_pk", key, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("job_id", sa.String(64)),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("error", sa.String(256), nullable=False, server_default=""),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("pk", name="pk_deliveries"),
        sa.UniqueConstraint("id", name="uq_deliveries_id"),
        sa.ForeignKeyConstraint(
            ["webhook_pk"], ["webhooks.pk"], name="fk_deliveries_webhook_pk_webhooks"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_state_next_at", "deliveries", ["state", "next_at"])
    op.create_index("ix_deliveries_webhook_pk", "deliveries", ["webhook_pk"])
    op.create_index("ix_deliveries_ended_at", "deliveries", ["ended_at"])
