"""Add the changes of all jobs in one sequence."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0052."""
    op.create_table(
        "activity",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("xid", sa.BigInteger, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_activity"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_activity_xid_pk", "activity", ["xid", "pk"])
