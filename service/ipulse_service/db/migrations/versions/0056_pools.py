"""Add pools of agents, and the pool of each job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    """Upgrades to revision 0056."""
    op.create_table(
        "pools",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("description", sa.Text(), nullable=False, server_default=""),
        sa.Column("labels", sa.Text(), nullable=False, server_default="{}"),
        sa.Column("agents", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("projects", sa.Text()),
        sa.Column("preemption", sa.String(16), nullable=False, server_default="never"),
        sa.Column("created_at", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("created_by", sa.String(64), nullable=False, server_default="owner"),
        sa.PrimaryKeyConstraint("name", name="pk_pools"),
    )
    op.add_column(
        "jobs", sa.Column("pool", sa.String(64), nullable=False, server_default="default")
    )
    op.drop_index("ix_jobs_turns", "jobs")
    op.create_index(
        "ix_jobs_turns",
        "jobs",
        [
            *("state", "device", "pool", "project", "owner"),
            *(sa.text("priority DESC"), "queued_at", "pk"),
        ],
    )
