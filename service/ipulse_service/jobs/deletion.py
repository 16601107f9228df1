"""Deletion of a job with its events, attempts and files."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select, update

from ipulse_core.errors import Conflict
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import (
    artifacts,
    attempts,
    events,
    idempotency_keys,
    job_metrics,
    job_ops,
    job_settings,
    jobs,
    outbox,
    submitted_specs,
    sweep_jobs,
)
from ipulse_service.jobs import dependencies
from ipulse_service.jobs.job import JobRow


class NotOver(Conflict):
    """The job has not ended; cancel it before you delete it."""

    code = "not_over"


def delete_job(transaction: Transaction, job: JobRow) -> set[str]:
    """Deletes all rows of a locked job and returns the digests of its files.

    Other jobs may share these files. Raises NotOver for a job that has not ended.
    """
    return delete_jobs(transaction, [job])


def delete_jobs(transaction: Transaction, ended: Sequence[JobRow]) -> set[str]:
    """Deletes several jobs, see `delete_job`."""
    if not all(job.state.is_terminal for job in ended):
        raise NotOver()
    pks = [job.pk for job in ended]
    digests: set[str] = set()
    for column, pk in (
        (artifacts.c.sha256, artifacts.c.job_pk),
        (jobs.c.dataset_sha256, jobs.c.pk),
        (jobs.c.start_sha256, jobs.c.pk),
        (job_ops.c.sha256, job_ops.c.job_pk),
    ):
        query = select(column).where(pk.in_(pks), column.is_not(None))
        digests.update(transaction.connection.execute(query).scalars())
    dependencies.forget(transaction, ended)
    for table in (
        outbox,
        idempotency_keys,
        events,
        artifacts,
        attempts,
        job_settings,
        job_metrics,
        job_ops,
        submitted_specs,
    ):
        transaction.connection.execute(delete(table).where(table.c.job_pk.in_(pks)))
    ended_trials = update(sweep_jobs).where(sweep_jobs.c.job_pk.in_(pks))
    transaction.connection.execute(ended_trials.values(job_pk=None))
    transaction.connection.execute(delete(jobs).where(jobs.c.pk.in_(pks)))
    transaction.topics.update(job.id for job in ended)
    return digests
