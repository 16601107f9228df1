"""Store what queued jobs need and what agents have, and name the reason of a pause."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_ENDED = ("succeeded", "failed", "cancelled")
_FILES = ("npz", "shd", "ssc", "n_mnist", "dvs_gesture")


def upgrade() -> None:
    """Upgrades to revision 0011."""
    op.add_column("jobs", sa.Column("ipus", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("data_set", sa.String(160)))
    op.add_column("agents", sa.Column("host", sa.String(255), nullable=False, server_default=""))
    op.add_column("agents", sa.Column("ipus", sa.Text, nullable=False, server_default="{}"))
    op.add_column("agents", sa.Column("data_sets", sa.Text))
    op.add_column("agents", sa.Column("since", sa.BigInteger, nullable=False, server_default="0"))
    _describe_jobs()
    op.drop_index("ix_jobs_queue", "jobs")
    columns = ["state", "device", "priority", "queued_at", "pk", "ipus", "data_set", "state_since"]
    op.create_index("ix_jobs_queue", "jobs", columns)
    op.execute(
        "UPDATE attempts SET reason = 'paused_by_user' "
        "WHERE reason = 'cancelled_by_user' AND message = 'Paused.'"
    )


def _describe_jobs() -> None:
    """Fills in the new columns of jobs that may still start."""
    columns = ("pk", "state", "spec", "ipus", "data_set")
    jobs = sa.table("jobs", *map(sa.column, columns))
    connection = op.get_bind()
    waiting = sa.select(jobs.c.pk, jobs.c.spec).where(jobs.c.state.not_in(_ENDED))
    for pk, text in connection.execute(waiting).all():
        spec = json.loads(text)
        device, data = spec.get("device", {}), spec.get("data", {})
        attaches = device.get("connection_type") not in ("PRE_COMPILE", "NEVER")
        values = {
            "ipus": device.get("ipus", 0) if attaches else 0,
            "data_set": f"{data['kind']}/{data['name']}" if data.get("kind") in _FILES else None,
        }
        connection.execute(sa.update(jobs).where(jobs.c.pk == pk).values(values))
