"""Reads the queue: the job that a claim takes, and the jobs that are due or past their deadline."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Select, bindparam, func, select

from ipulse_core.states import TERMINAL, JobState
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import store
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.queue.fair_share import QueuedJob, Standing
from ipulse_service.jobs.queue.room import ANYWHERE, Room

TRIES = 8  # entries of one owner that a claim tries to lock, while others are locked
SEARCHED, DEPTH = 10, 100  # owners, and their first jobs, among which one may go ahead of others

_QUEUED = (
    jobs.c.state == JobState.QUEUED.value,
    jobs.c.device == bindparam("of_kind"),
    jobs.c.pool == bindparam("of_pool"),
)
_OF_ACCOUNT = (
    *_QUEUED,
    jobs.c.project == bindparam("of_project"),
    jobs.c.owner == bindparam("of_owner"),
)
_COLUMNS = ("priority", "queued_at", "pk", "device", "ipus", "data_set")
_ENTRY = (
    *(jobs.c[name] for name in _COLUMNS),
    jobs.c.start_from.is_not(None),
    *(jobs.c[name] for name in ("requires", "pool", "state_since")),
    *(jobs.c[name] for name in ("project", "owner", "run_seconds")),
)


def _place(table: Any) -> tuple[Any, ...]:
    """Returns the order of jobs of one owner."""
    return table.c.priority.desc(), table.c.queued_at, table.c.pk


def _first_jobs() -> Select[Any]:
    """Returns the query of the first job of each owner in each project: one seek for each.

    It is that of a pool and a kind of device.
    """
    turns = (jobs.c.project, jobs.c.owner, *_place(jobs))
    first = select(jobs.c.pk).where(*_QUEUED).order_by(*turns).limit(1).scalar_subquery()
    found = select(first.label("pk")).cte("found", recursive=True)
    former, later = jobs.alias("former"), jobs.alias("later")
    turns_later = (later.c.project, later.c.owner, *_place(later))
    is_queued = (
        later.c.state == JobState.QUEUED.value,
        later.c.device == bindparam("of_kind"),
        later.c.pool == bindparam("of_pool"),
    )
    # Two seeks: SQLite uses the first column alone of a comparison of both.
    same_project = (later.c.project == former.c.project, later.c.owner > former.c.owner)
    following = func.coalesce(
        *(
            select(later.c.pk)
            .where(*is_queued, *condition)
            .order_by(*turns_later)
            .limit(1)
            .correlate(former)
            .scalar_subquery()
            for condition in (same_project, (later.c.project > former.c.project,))
        )
    )
    found = found.union_all(select(following).join_from(found, former, former.c.pk == found.c.pk))
    return select(*_ENTRY).join(found, found.c.pk == jobs.c.pk)


# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_FIRST_JOBS = _first_jobs()
_HEAD = (
    select(*COLUMNS)
    .where(*_OF_ACCOUNT)
    .order_by(*_place(jobs))
    .limit(1)
    .with_for_update(skip_locked=True, key_share=True)
)
_ALL_OF_ACCOUNT = select(*_ENTRY).where(*_OF_ACCOUNT)
_FIRST = (  # read from the index alone
    select(jobs.c.pk, jobs.c.ipus)
    .where(*_OF_ACCOUNT)
    .order_by(*_place(jobs))
    .limit(bindparam("depth"))
    .subquery("first")
)
SMALL_OF_ACCOUNT = (
    select(*_ENTRY)
    .join(_FIRST, _FIRST.c.pk == jobs.c.pk)
    .where(_FIRST.c.ipus <= bindparam("most_ipus"))
)
_ALL = select(*_ENTRY).where(jobs.c.state == JobState.QUEUED.value)


def entries(transaction: Transaction) -> list[QueuedJob]:
    """Returns the queued jobs, in no order."""
    return [QueuedJob._make(row) for row in transaction.connection.execute(_ALL)]


def in_order(entries: Iterable[QueuedJob], standing: Standing) -> list[QueuedJob]:
    """Returns queued jobs in the order in which claims take them; see `fair_share`.

    A job whose attempt was lost keeps its place.
    """
    return [*standing.in_order(entries)]


def head(
    transaction: Transaction,
    kinds: Collection[str],
    fits: Callable[[Needs], bool],
    standing: Standing,
    room: Room = ANYWHERE,
) -> JobRow | None:
    """Returns the first queued job of these kinds of devices that fits an agent, locked.

    It is one of the agent's pool. A job that another transaction has locked is skipped, and so is
    one that does not fit, for which there is no room, or that a quota does not allow.
    """
    with transaction.without_sorting():
        return _head(transaction, kinds, fits, standing, room)


def first_jobs(
    transaction: Transaction, kinds: Collection[str], pool: str, standing: Standing
) -> list[QueuedJob]:
    """Returns the first queued job of each owner in a pool, by kind of device, in order."""
    with transaction.without_sorting():
        found = [each for kind in kinds for each in _first_of_each(transaction, kind, pool)]
    return sorted(found, key=standing.key)


def _head(
    transaction: Transaction,
    kinds: Collection[str],
    fits: Callable[[Needs], bool],
    standing: Standing,
    room: Room,
) -> JobRow | None:
    pool = room.agent.pool
    first = [entry for kind in kinds for entry in _first_of_each(transaction, kind, pool)]
    turns = [(standing.key(entry), entry, False) for entry in first]
    heapq.heapify(turns)
    searched = 0
    while turns:
        _, entry, is_fitting = heapq.heappop(turns)
        later: Iterable[QueuedJob] = ()  # of this owner, which may start
        if not is_fitting and not _may_start(entry, fits, standing):
            if not standing.is_full(entry):
                later = _fitting(transaction, entry, fits, standing)
        elif obstacle := room.obstacle(entry):
            if not is_fitting and not obstacle.is_for_all and searched < SEARCHED:
                searched += 1
                small = {"depth": DEPTH, "most_ipus": room.free_ipus(entry.device)}
                later = _fitting(transaction, entry, fits, standing, small)
        else:
            row = _lock(transaction, entry, is_fitting)
            if row and _may_start(row, fits, standing) and not room.obstacle(row):
                return row
        for other in later:
            if other.pk != entry.pk:
                heapq.heappush(turns, (standing.key(other), other, True))
    return None


def _may_start(job: QueuedJob | JobRow, fits: Callable[[Needs], bool], standing: Standing) -> bool:
    return fits(job.needs) and standing.obstacle(job) is None


def _first_of_each(transaction: Transaction, kind: str, pool: str) -> Iterator[QueuedJob]:
    """Yields the first job of each owner in each project."""
    rows = transaction.connection.execute(_FIRST_JOBS, {"of_kind": kind, "of_pool": pool})
    return map(QueuedJob._make, rows)


def _fitting(
    transaction: Transaction,
    entry: QueuedJob,
    fits: Callable[[Needs], bool],
    standing: Standing,
    small: Mapping[str, int] | None = None,
) -> list[QueuedJob]:
    """Returns the first jobs of an owner that may start.

    It reads all of them, which is rare, or those of the first that need few IPUs.
    """
    query = _ALL_OF_ACCOUNT if small is None else SMALL_OF_ACCOUNT
    rows = transaction.connection.execute(query, {**_account(entry), **(small or {})})
    fitting = (one for one in map(QueuedJob._make, rows) if _may_start(one, fits, standing))
    return heapq.nsmallest(TRIES, fitting, key=lambda one: one.place)


def _lock(transaction: Transaction, entry: QueuedJob, this_one: bool) -> JobRow | None:
    """Locks this entry, or the first of its owner that is not locked."""
    if this_one:
        job = store.lock_or_skip(transaction, entry.pk)
        return job if job and job.state is JobState.QUEUED else None
    row = transaction.connection.execute(_HEAD, _account(entry)).one_or_none()
    return None if row is None else JobRow.of(row)


def _account(entry: QueuedJob) -> dict[str, str]:
    return {
        "of_kind": entry.device,
        "of_pool": entry.pool,
        "of_project": entry.project,
        "of_owner": entry.owner,
    }


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
