"""Add the request to finish a job, and the protocol of an attempt's agent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Upgrades to revision 0015."""
    op.add_column("jobs", sa.Column("finish_by", sa.BigInteger))
    op.add_column("jobs", sa.Column("finish_reason", sa.String(64)))
    column = sa.Column("protocol", sa.Integer, nullable=False, server_default="0")
    op.add_column("attempts", column)
