"""Changes of all jobs that pass a filter and that the caller may change, in short transactions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sqlalchemy import ColumnElement, and_, func, select, true

from ipulse_core.errors import IllegalTransition, InvalidInput, NotPermitted
from ipulse_core.states import ACTIVE, CANCELLABLE, TERMINAL, JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import (
    attempts,
    attributes,
    deletion,
    finishing,
    retry,
    store,
    transitions,
)
from ipulse_service.jobs.attributes import AttributeChange
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.search.filters import JobFilter
from ipulse_service.quotas.store import QuotaExceeded
from ipulse_service.settings import Settings

SIZE = 100  # jobs of one transaction, so that other writers need not wait for long


@dataclass(frozen=True)
class Counts:
    """How many jobs pass a filter, and which were counted."""

    by_state: dict[JobState, int]
    changeable: int  # of these
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
_IMPOSSIBLE = (
    IllegalTransition,
    finishing.AgentTooOld,
    InvalidInput,
    NotPermitted,
    QuotaExceeded,
)


@dataclass(frozen=True)
class Change:
    """A change of many jobs, and which jobs allow it."""

    # Changes the next jobs that pass a filter, with keys after the first number and up to the
    # second, and locks them.
    apply: Callable[[Transaction, JobFilter, int, int], Batch]
    is_possible: ColumnElement[bool]


def count(transaction: Transaction, wanted: JobFilter, change: Change) -> Counts:
    """Counts the jobs that pass a filter and that the caller may change.

    Also counts those of them that allow a change.
    """
    query = (
        select(
            jobs.c.state,
            func.count(),
            func.count().filter(change.is_possible),
            func.max(jobs.c.pk),
        )
        .where(*wanted.clauses(transaction), transaction.access.where_changeable(jobs))
        .group_by(jobs.c.state)
        .order_by(jobs.c.state)
    )
    rows = transaction.connection.execute(query).all()
    return Counts(
        by_state={JobState(state): number for state, number, *_ in rows},
        changeable=sum(number for _, _, number, _ in rows),
        last=max((last for *_, last in rows), default=0),
        as_of=transaction.now + 1,
    )


def _cancel(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
    found = _next(transaction, wanted, after, last)
    moves = [(job, state) for job in found if (state := attempts.cancelled_state(job))]
    transitions.move_all(transaction, moves, Reason.CANCELLED_BY_USER)
    return Batch(len(moves), len(found) - len(moves), _last(found))


def _delete(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
    found = _next(transaction, wanted, after, last)
    ended = [job for job in found if job.state.is_terminal]
    digests = deletion.delete_jobs(transaction, ended) if ended else set()
    return Batch(len(ended), len(found) - len(ended), _last(found), frozenset(digests))


def _each(
    change: Callable[[Transaction, JobRow], JobRow],
) -> Callable[[Transaction, JobFilter, int, int], Batch]:
    """Returns the function that changes one job after another.

    A job for which the change is not possible is left unchanged.
    """

    def change_each(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> Batch:
        found = _next(transaction, wanted, after, last)
        changed = 0
        for each in found:
            # Read again: the retry of a job also changes jobs that wait for it.
            job = store.get_by_pk(transaction, each.pk)
            with suppress(*_IMPOSSIBLE):
                changed += change(transaction, job) != job
        return Batch(changed, len(found) - changed, _last(found))

    return change_each


def each_in(
    states: Collection[JobState], change: Callable[[Transaction, JobRow], JobRow]
) -> Change:
    """Returns the change of jobs in some states, each of them with this function."""
    return Change(_each(change), _is_in(states))


def finish(settings: Settings) -> Change:
    """Returns the change that finishes jobs now, with their results."""
    is_possible = and_(_is_in(ACTIVE), jobs.c.finish_by.is_(None))
    return Change(_each(partial(finishing.finish, settings=settings)), is_possible)


def retry_each(change: Callable[[Transaction, JobRow], JobRow]) -> Change:
    """Returns the change that retries jobs, each of them with this function."""
    return Change(_each(change), retry.is_possible())


def edit(changes: AttributeChange, changed_by: str) -> Change:
    """Returns the change of attributes of jobs."""
    is_possible = true() if changes.priority is None else ~_is_in(TERMINAL)
    return Change(
        _each(partial(attributes.change, changes=changes, changed_by=changed_by)), is_possible
    )


def _is_in(states: Collection[JobState]) -> ColumnElement[bool]:
    return jobs.c.state.in_(sorted(state.value for state in states))


def _next(transaction: Transaction, wanted: JobFilter, after: int, last: int) -> list[JobRow]:
    query = (
        select(*COLUMNS)
        .where(
            *wanted.clauses(transaction),
            transaction.access.where_changeable(jobs),
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


CANCEL = Change(_cancel, _is_in(CANCELLABLE))
DELETE = Change(_delete, _is_in(TERMINAL))
