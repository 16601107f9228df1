"""Add the codes by which programs sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """Upgrades to revision 0051."""
    op.create_table(
        "device_codes",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("user_code", sa.String(16), nullable=False),
        sa.Column("client", sa.String(128), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("principal", sa.String(64)),
        sa.Column("project", sa.String(64)),
        sa.Column("is_allowed", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("polled_at", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_device_codes"),
        sa.UniqueConstraint("user_code", name="uq_device_codes_user_code"),
    )
