"""Takes a job away with all that it left."""

from __future__ import annotations

from sqlalchemy import delete, select

from ipulse_core.errors import Conflict
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import artifacts, attempts, events, idempotency_keys, jobs, outbox
from ipulse_service.jobs.job import Job


class NotOver(Conflict):
    """Only a job that has ended can be deleted; cancel it first."""

    code = "not_over"


def delete_job(transaction: Transaction, job: Job) -> set[str]:
    """Removes every row of a held job. Returns the digests of its files, which others may share.

    Raises NotOver for a job that has not ended.
    """
    if not job.state.is_terminal:
        raise NotOver()
    query = select(artifacts.c.sha256).where(artifacts.c.job_pk == job.pk)
    digests = set(transaction.connection.execute(query).scalars())
    for table in (outbox, idempotency_keys, events, artifacts, attempts):
        transaction.connection.execute(delete(table).where(table.c.job_pk == job.pk))
    transaction.connection.execute(delete(jobs).where(jobs.c.pk == job.pk))
    transaction.topics.add(job.id)
    return digests
