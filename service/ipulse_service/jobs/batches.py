"""Changes of all jobs that pass a filter, in short transactions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import func, select

from ipulse_core.errors import IllegalTransition, InvalidInput, NotPermitted
from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import attempts, deletion, finishing, transitions
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.search.filters import JobFilter

SIZE = 100  # jobs of one transaction, so that other writers need not wait for long


@dataclass(frozen=True)
class Counts:
    """How many jobs pass a filter, and which were counted."""

    by_state: dict[JobState, int]
    last: int  # the greatest key, 0 without jobs
    as_of: int  # all were submitted before; milliseconds since 1970


@dataclass(frozen=True)
class Batch:
    """The result of one transaction."""

    changed: int
    unchanged: int  # in a state that does not allow the change, or that need none
    last: int | None  # key of the last job; None if no more follow
    digests: frozenset[str] = frozenset()  # files to delete unless other jobs share them


# The errors of a change of one job, raised before it writes a row.
_IMPOSSIBLE = (IllegalTransition, finishing.AgentTooOld, InvalidInput, NotPermitted)

Change = Callable[[Transaction, JobFilter, int, int], Batch]


def count(transaction: Transaction, wanted: JobFilter) -> Counts:
    """Counts the jobs that pass a filter."""
    query = (
        select(jobs.c.state, func.count(), func.max(jobs.c.pk))
        .where(*wanted.clauses(transaction))
        .group_by(jobs.c.state)
        .order_by(jobs.c.state)
    )
    rows = transaction.connection.execute(query).all()
    by_state = {JobState(state): number for state, number, _ in rows}
    return Counts(by_state, max((last for *_, last in rows), default=0), transaction.now + 1)


def cancel(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
    """Cancels the next jobs that pass a filter, with keys after `after` and up to `last`."""
    found = _next(transaction, wanted, after, last)
    moves = [(job, state) for job in found if (state := attempts.cancelled_state(job))]
    transitions.move_all(transaction, moves, Reason.CANCELLED_BY_USER)
    return Batch(len(moves), len(found) - len(moves), _last(found))


def delete(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
    """Deletes the ended ones of the next jobs that pass a filter, see `cancel`."""
    found = _next(transaction, wanted, after, last)
    ended = [job for job in found if job.state.is_terminal]
    digests = deletion.delete_jobs(transaction, ended) if ended else set()
    return Batch(len(ended), len(found) - len(ended), _last(found), frozenset(digests))


def each(change: Callable[[Transaction, JobRow], JobRow]) -> Change:
    """Returns the function that changes one job after another of those that `cancel` describes.

    A job for which the change is not possible is left unchanged.
    """

    def change_each(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
        found = _next(transaction, wanted, after, last)
        changed = 0
        for job in found:
            with suppress(*_IMPOSSIBLE):
                changed += change(transaction, job) != job
        return Batch(changed, len(found) - changed, _last(found))

    return change_each


def _next(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> list[JobRow]:
    query = (
        select(*COLUMNS)
        .where(
            *wanted.clauses(transaction),
            jobs.c.pk > after,
            jobs.c.pk <= last,
        )
        .order_by(jobs.c.pk)
        .limit(SIZE)
        .with_for_update(key_share=True)
    )
    return [JobRow.of(row) for row in transaction.connection.execute(query)]


def _last(found: list[JobRow]) -> int | None:
    return found[-1].pk if len(found) == SIZE else None
