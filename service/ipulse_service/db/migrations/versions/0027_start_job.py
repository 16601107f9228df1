"""Add the id of the job that a job started from, to search by it."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_jobs = sa.table("jobs", *(sa.column(name) for name in ("pk", "start_from", "start_job")))


def upgrade() -> None:
    """Upgrades to revision 0027."""
    op.add_column("jobs", sa.Column("start_job", sa.String(64)))
    op.create_index("ix_jobs_start_job", "jobs", ["start_job"])
    connection = op.get_bind()
    query = sa.select(_jobs.c.pk, _jobs.c.start_from).where(_jobs.c.start_from.is_not(None))
    for pk, text in connection.execute(query).all():
        job = json.loads(text)["job"] or None  # uploaded weights are of no job
        connection.execute(sa.update(_jobs).where(_jobs.c.pk == pk).values(start_job=job))
