"""Add the table of the offsets of the database's clock."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0008."""
    op.create_table(
        "clock_eras",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("ahead_ms", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_clock_eras"),
        sqlite_autoincrement=True,
    )
