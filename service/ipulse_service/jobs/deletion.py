"""Deletion of jobs: at once for everybody, and of their many rows in short transactions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import String, case, cast, delete, func, literal, select, update

from ipulse_core.errors import Conflict, Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import (
    DELETED,
    IMPORTING,
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

ABANDONED_MS = 600_000  # after which an import that adds no rows has ended with its service
REQUEST_SECONDS = 2.0
_ROWS = 5_000  # events that one transaction deletes, about
_JOBS = 100


class NotOver(Conflict):
    """The job has not ended; cancel it before you delete it."""

    code = "not_over"


def delete_job(transaction: Transaction, job: JobRow) -> set[str]:
    """Deletes a locked job for everybody and returns the digests of its files.

    Other jobs may share these files. `purge` deletes its other rows. Raises NotOver for a job that
    has not ended.
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
    # Without its attempt, an agent that comes back learns that there is nothing to go on with.
    for table in (outbox, idempotency_keys, artifacts, attempts, job_ops, submitted_specs):
        transaction.connection.execute(delete(table).where(table.c.job_pk.in_(pks)))
    ended_trials = update(sweep_jobs).where(sweep_jobs.c.job_pk.in_(pks))
    transaction.connection.execute(ended_trials.values(job_pk=None))
    # The id is free at once, so that an archive of the job may be imported.
    hidden = update(jobs).where(jobs.c.pk.in_(pks))
    values = {
        "id": literal("deleted_") + cast(jobs.c.pk, String),
        "state": DELETED,
        "tags": "[]",
        **dict.fromkeys(("dataset_sha256", "start_sha256", "start_job", "group_name")),
    }
    transaction.connection.execute(hidden.values(values))
    for job in ended:
        transaction.audit("job.delete", job.id, job.project)
    transaction.topics.update(job.id for job in ended)
    return digests


def purge(database: Database, staged: int | None = None, seconds: float = REQUEST_SECONDS) -> None:
    """Deletes the rows of deleted jobs and of imports that have ended without a job.

    `staged` is the key of such an import. It returns after so many seconds; housekeeping goes on.
    Raises Unavailable.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with database.read() as transaction:
            found = _hidden(transaction, staged)
        if not found:
            return
        with database.write() as transaction:
            transaction.lock("purge")
            _delete_some(transaction, found)


def try_purge(
    database: Database, staged: int | None = None, seconds: float = REQUEST_SECONDS
) -> None:
    """Calls `purge` for a request, which has done its work: housekeeping repeats what fails."""
    with suppress(Unavailable):
        purge(database, staged, seconds)


def _hidden(transaction: Transaction, staged: int | None) -> list[tuple[int, int]]:
    """Returns the keys of hidden jobs with the number of their events, at most."""
    abandoned = (jobs.c.state == IMPORTING) & (jobs.c.updated_at < transaction.now - ABANDONED_MS)
    is_hidden = (jobs.c.state == DELETED) | abandoned | (jobs.c.pk == staged)
    first = select(func.min(events.c.seq)).where(events.c.job_pk == jobs.c.pk).scalar_subquery()
    left = case((first.is_(None), 0), else_=jobs.c.last_seq - first + 1)
    query = select(jobs.c.pk, left).where(is_hidden).order_by(jobs.c.pk).limit(_JOBS)
    return [(pk, count) for pk, count in transaction.connection.execute(query)]


def _delete_some(transaction: Transaction, found: Sequence[tuple[int, int]]) -> None:
    """Deletes the first of some jobs, or some events of the very first."""
    pk, count = found[0]
    if count > _ROWS:
        first = select(func.min(events.c.seq)).where(events.c.job_pk == pk).scalar_subquery()
        some = delete(events).where(events.c.job_pk == pk, events.c.seq < first + _ROWS)
        transaction.connection.execute(some)
        return
    pks: list[int] = []
    rows = 0
    for pk, count in found:
        rows += count
        if rows > _ROWS:
            break
        pks.append(pk)
    for table in (events, job_settings, job_metrics, artifacts, attempts, job_ops):
        transaction.connection.execute(delete(table).where(table.c.job_pk.in_(pks)))
    transaction.connection.execute(delete(jobs).where(jobs.c.pk.in_(pks)))
