"""Add quotas, and the device time that was used until now."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"

_LOST = frozenset(
    (
        *("runner_lost", "worker_lost", "worker_stopped", "worker_disk_full"),
        *("worker_disk_failed", "worker_limit", "kernel_unavailable", "sandbox_unavailable"),
        *("library_unavailable", "package_unavailable", "ipu_reset", "partition_reset"),
        *("full_reset", "unrecoverable"),
    )
)
_OUTCOMES = {
    **dict.fromkeys(_LOST, "lost"),
    **dict.fromkeys(("cancelled_by_user", "paused_by_user"), "stopped"),
    **dict.fromkeys(("completed", "finished_early", "pruned"), "succeeded"),
}


def upgrade() -> None:
    """Upgrades to revision 0054."""
    name = sa.String(64)
    op.create_table(
        "quotas",
        sa.Column("project", name, nullable=False),
        sa.Column("principal", name, nullable=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "principal", "name", name="pk_quotas"),
    )
    op.create_table(
        "usage",
        sa.Column("project", name, nullable=False),
        sa.Column("owner", name, nullable=False),
        sa.Column("device", sa.String(32), nullable=False),
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("device_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "owner", "device", "month", "outcome", name="pk_usage"),
    )
    op.create_table(
        "fair_usage",
        sa.Column("project", name, nullable=False),
        sa.Column("owner", name, nullable=False),
        sa.Column("device_ms", sa.Double(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "owner", name="pk_fair_usage"),
    )
    op.create_index(
        "ix_jobs_turns",
        "jobs",
        ["state", "device", "project", "owner", sa.text("priority DESC"), "queued_at", "pk"],
    )
    _add_used()


def _add_used() -> None:
    connection = op.get_bind()
    attempts = sa.table(
        "attempts", *map(sa.column, ("job_pk", "started_at", "finished_at", "reason"))
    )
    jobs = sa.table(
        "jobs", *map(sa.column, ("pk", "project", "owner", "device", "ipus", "imported_at"))
    )
    query = (
        sa.select(
            *(jobs.c.project, jobs.c.owner, jobs.c.device, jobs.c.ipus),
            *(attempts.c.started_at, attempts.c.finished_at, attempts.c.reason),
        )
        .join(jobs, jobs.c.pk == attempts.c.job_pk)
        .where(attempts.c.finished_at.is_not(None), jobs.c.imported_at.is_(None))
    )
    used: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for project, owner, device, ipus, begun, ended, reason in connection.execute(query):
        month = datetime.fromtimestamp(ended / 1000, UTC).strftime("%Y-%m")
        total = used[project, owner, device, month, _OUTCOMES.get(reason, "failed")]
        total[0] += max(1, ipus) * max(0, ended - begun)
        total[1] += 1
    names = ("project", "owner", "device", "month", "outcome", "device_ms", "attempts")
    table = sa.table("usage", *map(sa.column, names))
    rows = [dict(zip(names, (*key, *total), strict=True)) for key, total in used.items()]
    if rows:
        connection.execute(sa.insert(table), rows)
