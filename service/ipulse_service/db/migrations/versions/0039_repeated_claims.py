"""Index the attempts by their fencing tokens, for claims that are repeated."""

from __future__ import annotations

from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Upgrades to revision 0039."""
    op.create_index("ix_attempts_fence_sha256", "attempts", ["fence_sha256"])
