"""The order of the queue, and the jobs that are due or past their deadline."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection
from typing import NamedTuple

from sqlalchemy import Select, bindparam, func, select

from ipulse_core.states import TERMINAL, JobState
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import store
from ipulse_service.jobs.job import COLUMNS, JobRow

TRIES = 8  # entries of one kind that a claim tries to lock, while others are locked

_QUEUED = (jobs.c.state == JobState.QUEUED.value, jobs.c.device == bindparam("of_kind"))
_FIRST = (
    *_QUEUED,
    # Two index look-ups; sorting by both columns would read the whole queue.
    jobs.c.priority == select(func.max(jobs.c.priority)).where(*_QUEUED).scalar_subquery(),
)
_ENTRY = (
    *(jobs.c[name] for name in ("priority", "queued_at", "pk", "device", "ipus", "data_set")),
    jobs.c.start_from.is_not(None),
    jobs.c.requires,
    jobs.c.state_since,
)
# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_PEEK = select(*_ENTRY).where(*_FIRST).order_by(jobs.c.queued_at, jobs.c.pk).limit(1)
_HEAD = (
    select(*COLUMNS)
    .where(*_FIRST)
    .order_by(jobs.c.queued_at, jobs.c.pk)
    .limit(1)
    .with_for_update(skip_locked=True, key_share=True)
)
_ALL_OF_KIND = select(*_ENTRY).where(*_QUEUED)
_ALL = select(*_ENTRY).where(jobs.c.state == JobState.QUEUED.value)


class QueuedJob(NamedTuple):
    """A queued job: what its place depends on, and what it needs."""

    priority: int
    queued_at: int
    pk: int
    device: str
    ipus: int
    data_set: str | None
    starts: bool
    requires: str | None
    state_since: int

    @property
    def needs(self) -> Needs:
        """The needs of the job."""
        return Needs(self.device, self.ipus, self.data_set, self.starts, self.requires)

    @property
    def place(self) -> tuple[int, int, int]:
        """The key of the one order of all queued jobs; a smaller one comes first."""
        return (-self.priority, self.queued_at, self.pk)


def entries(transaction: Transaction) -> list[QueuedJob]:
    """Returns the whole queue in order: by priority, then by the time of the submission.

    A job whose attempt was lost keeps its place.
    """
    rows = transaction.connection.execute(_ALL)
    return sorted(map(QueuedJob._make, rows), key=lambda entry: entry.place)


def head(
    transaction: Transaction, kinds: Collection[str], fits: Callable[[Needs], bool]
) -> JobRow | None:
    """Returns the first queued job of these kinds of devices that fits an agent, locked.

    A job that another transaction has locked is skipped, and so is one that does not fit.
    """
    waiting = [(kind, entry) for kind in kinds if (entry := _first(transaction, kind))]
    unfit = [kind for kind, entry in waiting if not fits(entry.needs)]
    found: list[QueuedJob] = [entry for kind, entry in waiting if kind not in unfit]
    for kind in unfit:  # rare, so that it may read the queue of the kind
        rows = transaction.connection.execute(_ALL_OF_KIND, {"of_kind": kind})
        fitting = (entry for entry in map(QueuedJob._make, rows) if fits(entry.needs))
        found += heapq.nsmallest(TRIES, fitting, key=lambda entry: entry.place)
    for entry in sorted(found, key=lambda entry: entry.place):
        row = _lock(transaction, entry, entry.device in unfit)
        if row is not None and fits(row.needs):
            return row
    return None


def _first(transaction: Transaction, kind: str) -> QueuedJob | None:
    row = transaction.connection.execute(_PEEK, {"of_kind": kind}).one_or_none()
    return None if row is None else QueuedJob._make(row)


def _lock(transaction: Transaction, entry: QueuedJob, this_one: bool) -> JobRow | None:
    """Locks this entry, or the first of its kind that is not locked."""
    if this_one:
        job = store.lock_or_skip(transaction, entry.pk)
        return job if job and job.state is JobState.QUEUED else None
    row = transaction.connection.execute(_HEAD, {"of_kind": entry.device}).one_or_none()
    return None if row is None else JobRow.of(row)


def due(transaction: Transaction) -> list[JobRow]:
    """Returns the jobs in retry_wait that are due, in the order in which they became due."""
    is_due = (jobs.c.state == JobState.RETRY_WAIT.value, jobs.c.due_at <= transaction.now)
    return _all(transaction, select(*COLUMNS).where(*is_due).order_by(jobs.c.due_at))


def overdue(transaction: Transaction) -> list[JobRow]:
    """Returns the jobs past their deadline; a writing transaction locks them."""
    query = (
        select(*COLUMNS).where(jobs.c.deadline_at <= transaction.now).order_by(jobs.c.deadline_at)
    )
    return _all(transaction, query)


def next_due(transaction: Transaction) -> int | None:
    """Returns when the next job in retry_wait is due."""
    query = select(func.min(jobs.c.due_at)).where(jobs.c.state == JobState.RETRY_WAIT.value)
    moment: int | None = transaction.connection.execute(query).scalar_one()
    return moment


def next_deadline(transaction: Transaction) -> int | None:
    """Returns the next deadline of all jobs."""
    moment: int | None = transaction.connection.execute(
        select(func.min(jobs.c.deadline_at))
    ).scalar_one()
    return moment


def ended_before(transaction: Transaction, moment: int, limit: int) -> list[JobRow]:
    """Returns jobs that ended, or were imported, before a time, the oldest first."""
    over = [state.value for state in TERMINAL]
    since = func.coalesce(jobs.c.imported_at, jobs.c.finished_at)
    query = (
        select(*COLUMNS)
        .where(jobs.c.state.in_(over), since < moment)
        .order_by(jobs.c.pk)
        .limit(limit)
    )
    return [JobRow.of(row) for row in transaction.connection.execute(query)]


def _all(transaction: Transaction, query: Select[tuple[object, ...]]) -> list[JobRow]:
    if transaction.is_writing:
        # Another replica handles the others.
        query = query.with_for_update(skip_locked=True, key_share=True)
    return [JobRow.of(row) for row in transaction.connection.execute(query)]
