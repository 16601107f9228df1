"""Lists by state and device, in the order in which they are shown."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.drop_index("ix_jobs_state_device_state_since", "jobs")
    op.create_index("ix_jobs_state_device_pk", "jobs", ["state", "device", "pk"])
