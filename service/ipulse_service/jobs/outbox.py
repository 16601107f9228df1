"""Wake-ups that a transaction has promised and that are not published yet."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, delete, func, insert, select

from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs, outbox
from ipulse_service.db.wake_up import WakeUp
from ipulse_service.jobs.job import JobRow

_PROMISE_UNLESS_GONE = (
    insert(outbox)
    .from_select(
        ["job_pk"],
        select(jobs.c.pk)
        .where(jobs.c.pk == bindparam("of_job"))
        .with_for_update(read=True, key_share=True),
    )
    .returning(outbox.c.pk)
)


def add(transaction: Transaction, job: JobRow) -> None:
    """Promises a wake-up for a job, in the transaction that queues and has locked it."""
    transaction.promise(job.pk, WakeUp(job.id, job.device))


def add_unless_gone(transaction: Transaction, job: JobRow) -> None:
    """Promises a wake-up for a job that is not locked, unless it was deleted meanwhile."""
    promised = transaction.connection.execute(_PROMISE_UNLESS_GONE, {"of_job": job.pk})
    key = promised.scalar_one_or_none()
    if key is not None:
        transaction.wake_ups[key] = WakeUp(job.id, job.device)


def pending(transaction: Transaction, limit: int, since: int) -> dict[int, WakeUp]:
    """Returns the oldest promises by key, of jobs that have not changed state after `since`."""
    query = (
        select(outbox.c.pk, jobs.c.id, jobs.c.device)
        .join(jobs, jobs.c.pk == outbox.c.job_pk)
        .where(jobs.c.state_since <= since)
        .order_by(outbox.c.pk)
        .limit(limit)
    )
    rows = transaction.connection.execute(query)
    return {row.pk: WakeUp(row.id, row.device) for row in rows}


def remove(transaction: Transaction, keys: Collection[int]) -> None:
    """Deletes promises that are published."""
    transaction.connection.execute(delete(outbox).where(outbox.c.pk.in_(keys)))


def queued(transaction: Transaction, since: int) -> dict[str, int]:
    """Counts the jobs by device kind that have been queued since `since` or earlier."""
    query = (
        select(jobs.c.device, func.count().label("jobs"))
        .where(jobs.c.state == JobState.QUEUED.value, jobs.c.queued_at <= since)
        .group_by(jobs.c.device)
    )
    return {row.device: row.jobs for row in transaction.connection.execute(query)}


def oldest_queued(transaction: Transaction, device: str, since: int, limit: int) -> list[WakeUp]:
    """Returns the first jobs in queue order of those queued since `since` or earlier."""
    query = (
        select(jobs.c.id, jobs.c.device)
        .where(
            jobs.c.state == JobState.QUEUED.value,
            jobs.c.device == device,
            jobs.c.queued_at <= since,
        )
        .order_by(jobs.c.priority.desc(), jobs.c.queued_at)
        .limit(limit)
    )
    return [WakeUp(row.id, row.device) for row in transaction.connection.execute(query)]
