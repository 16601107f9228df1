"""Add an index for lists by state and device."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Upgrades to revision 0006."""
    op.drop_index("ix_jobs_state_device_state_since", "jobs")
    op.create_index("ix_jobs_state_device_pk", "jobs", ["state", "device", "pk"])
