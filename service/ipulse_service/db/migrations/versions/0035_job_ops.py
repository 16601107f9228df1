"""Add the custom ops of jobs, which were the file that such a job started from."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("pk", "start_from", "start_job", "start_sha256", "sandbox")),
)
_ops = sa.table("ops", sa.column("name"), sa.column("sha256"))


def upgrade() -> None:
    """Upgrades to revision 0035."""
    job_ops = op.create_table(
        "job_ops",
        sa.Column("job_pk", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_job_ops_job_pk_jobs"),
        sa.PrimaryKeyConstraint("job_pk", "sha256", name="pk_job_ops"),
    )
    op.create_index("ix_job_ops_sha256", "job_ops", ["sha256"])
    connection = op.get_bind()
    query = sa.select(_jobs.c.pk, _jobs.c.start_from).where(_jobs.c.start_from.is_not(None))
    for pk, text in connection.execute(query).all():
        start = json.loads(text)
        if start["mode"] != "package" or not start["artifact_id"].startswith("op_"):
            continue
        digest = start["sha256"]
        name = connection.execute(sa.select(_ops.c.name).where(_ops.c.sha256 == digest)).scalar()
        values = {"job_pk": pk, "sha256": digest, "name": name or "op", "size": start["size"]}
        connection.execute(sa.insert(job_ops).values(values))
        changed = {"start_from": None, "start_job": None, "start_sha256": None, "sandbox": True}
        connection.execute(sa.update(_jobs).where(_jobs.c.pk == pk).values(changed))
