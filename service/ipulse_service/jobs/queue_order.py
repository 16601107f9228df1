"""The order of the queue, and the jobs that are due or past their deadline."""

from __future__ import annotations

from sqlalchemy import Select, and_, bindparam, func, or_, select

from ipulse_core.states import TERMINAL, JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.job import COLUMNS, JobRow

_QUEUED = (jobs.c.state == JobState.QUEUED.value, jobs.c.device == bindparam("of_kind"))
# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_HEAD = (
    select(*COLUMNS)
    .where(
        *_QUEUED,
        # Two index look-ups; sorting by both columns would read the whole queue.
        jobs.c.priority == select(func.max(jobs.c.priority)).where(*_QUEUED).scalar_subquery(),
    )
    .order_by(jobs.c.queued_at, jobs.c.pk)
    .limit(1)
    .with_for_update(skip_locked=True, key_share=True)
)


def head(transaction: Transaction, device: str) -> JobRow | None:
    """Returns the first queued job for this kind of device, locked.

    A higher priority comes first, then the earlier position in the queue. A job whose attempt was
    lost keeps its position. A job that another transaction has locked is skipped.
    """
    row = transaction.connection.execute(_HEAD, {"of_kind": device}).one_or_none()
    return None if row is None else JobRow.of(row)


def count_ahead(transaction: Transaction, job: JobRow) -> int:
    """Counts the queued jobs for the same kind of device that come before this one."""
    goes_first = or_(
        jobs.c.priority > job.priority,
        and_(
            jobs.c.priority == job.priority,
            or_(
                jobs.c.queued_at < job.queued_at,
                and_(jobs.c.queued_at == job.queued_at, jobs.c.pk < job.pk),
            ),
        ),
    )
    query = select(func.count()).where(
        jobs.c.state == JobState.QUEUED.value, jobs.c.device == job.device, goes_first
    )
    return int(transaction.connection.execute(query).scalar_one())


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
    """Returns jobs that ended before a time in milliseconds since 1970, the oldest first."""
    over = [state.value for state in TERMINAL]
    query = (
        select(*COLUMNS)
        .where(jobs.c.state.in_(over), jobs.c.finished_at < moment)
        .order_by(jobs.c.pk)
        .limit(limit)
    )
    return [JobRow.of(row) for row in transaction.connection.execute(query)]


def _all(transaction: Transaction, query: Select[tuple[object, ...]]) -> list[JobRow]:
    if transaction.is_writing:
        # Another replica handles the others.
        query = query.with_for_update(skip_locked=True, key_share=True)
    return [JobRow.of(row) for row in transaction.connection.execute(query)]
