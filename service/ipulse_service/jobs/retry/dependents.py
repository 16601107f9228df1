"""Jobs that wait for a job that is retried: they wait again, as if it had not ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select, update

from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_dependencies, jobs
from ipulse_service.jobs import transitions
from ipulse_service.jobs.dependencies import BROKEN, WAITING
from ipulse_service.jobs.job import COLUMNS, ENDED, JobRow

AT_ONCE = 500  # jobs of one statement


def waits(transaction: Transaction, job: JobRow) -> bool:
    """Returns whether a job still waits for others."""
    return _needed(transaction, job, WAITING) is not None


def broken(transaction: Transaction, job: JobRow) -> str | None:
    """Returns the id of a job that did not end as this one waited for, None without one."""
    return _needed(transaction, job, BROKEN)


def block_again(transaction: Transaction, retried: Sequence[JobRow]) -> list[JobRow]:
    """Makes the jobs wait again that wait for these and have not begun; returns the blocked ones.

    Those that were cancelled for this reason alone are blocked again, and so are those that waited
    for them.
    """
    blocked: list[JobRow] = []
    level = [job.pk for job in retried]
    while level:
        again = _wait_again(transaction, level[:AT_ONCE])
        moves = [
            (job._replace(retried_at=transaction.now), JobState.BLOCKED)
            for job in again
            if job.state is JobState.CANCELLED and job.reason is Reason.DEPENDENCY_FAILED
        ]
        transitions.move_all(transaction, moves, None)
        blocked += (job for job, _ in moves)
        level = [*level[AT_ONCE:], *(job.pk for job, _ in moves)]
    return blocked


def _wait_again(transaction: Transaction, needed: Collection[int]) -> list[JobRow]:
    """Marks what waits for these jobs; returns the locked jobs without another broken wait."""
    edges = (job_dependencies.c.needs_pk.in_(needed), job_dependencies.c.on_end != "compiled")
    waiting = (
        jobs.c.pk.in_(select(job_dependencies.c.job_pk).where(*edges)),
        jobs.c.attempt == 0,
        jobs.c.state.in_([JobState.BLOCKED.value, *ENDED]),
    )
    locked = select(*COLUMNS).where(*waiting).order_by(jobs.c.pk).with_for_update(key_share=True)
    found = [JobRow.of(row) for row in transaction.connection.execute(locked)]
    pks = select(jobs.c.pk).where(*waiting)
    change = update(job_dependencies).where(*edges, job_dependencies.c.job_pk.in_(pks))
    transaction.connection.execute(change.values(state=WAITING))
    other = select(job_dependencies.c.job_pk).where(
        job_dependencies.c.job_pk.in_(pks), job_dependencies.c.state == BROKEN
    )
    still_broken = set(transaction.connection.execute(other).scalars())
    return [job for job in found if job.pk not in still_broken]


def _needed(transaction: Transaction, job: JobRow, state: str) -> str | None:
    query = select(job_dependencies.c.needs_id).where(
        job_dependencies.c.job_pk == job.pk, job_dependencies.c.state == state
    )
    found: str | None = transaction.connection.execute(query.limit(1)).scalar_one_or_none()
    return found
