"""Add the number of IPUs to the index of turns, so that small jobs are found in it alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    """Upgrades to revision 0059."""
    op.drop_index("ix_jobs_turns", "jobs")
    op.create_index(
        "ix_jobs_turns",
        "jobs",
        [
            *("state", "device", "pool", "project", "owner"),
            *(sa.text("priority DESC"), "queued_at", "pk", "ipus"),
        ],
    )
