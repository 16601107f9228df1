"""Which job comes next, and which are due or late."""

from __future__ import annotations

from sqlalchemy import Select, and_, bindparam, func, or_, select

from ipulse_core.states import TERMINAL, JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.job import COLUMNS, Job

_QUEUED = (jobs.c.state == JobState.QUEUED.value, jobs.c.device == bindparam("of_kind"))
# Made once: what SQLAlchemy does to make a statement costs more than the database takes for it.
_HEAD = (
    select(*COLUMNS)
    .where(
        *_QUEUED,
        # A look into the index each; sorted by both columns, a long queue would be read whole.
        jobs.c.priority == select(func.max(jobs.c.priority)).where(*_QUEUED).scalar_subquery(),
    )
    .order_by(jobs.c.queued_at, jobs.c.pk)
    .limit(1)
    .with_for_update(skip_locked=True, key_share=True)
)


def head(transaction: Transaction, device: str) -> Job | None:
    """The queued job whose turn it is on this kind of device, held.

    The most urgent come first, then who took a place in the queue first: a job whose attempt was
    lost has kept its place, and so goes before all that have never begun. A job that somebody
    else takes at this moment is passed over.
    """
    row = transaction.connection.execute(_HEAD, {"of_kind": device}).one_or_none()
    return None if row is None else Job.of(row)


def count_ahead(transaction: Transaction, job: Job) -> int:
    """How many queued jobs have their turn on this kind of device before this one."""
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


def due(transaction: Transaction) -> list[Job]:
    """The retry_wait jobs whose wait is over, the longest over first."""
    is_due = (jobs.c.state == JobState.RETRY_WAIT.value, jobs.c.due_at <= transaction.now)
    return _all(transaction, select(*COLUMNS).where(*is_due).order_by(jobs.c.due_at))


def overdue(transaction: Transaction) -> list[Job]:
    """The jobs whose deadline has passed; a writing transaction holds them."""
    query = (
        select(*COLUMNS).where(jobs.c.deadline_at <= transaction.now).order_by(jobs.c.deadline_at)
    )
    return _all(transaction, query)


def next_due(transaction: Transaction) -> int | None:
    """When the first of the retry_wait jobs may be queued again."""
    query = select(func.min(jobs.c.due_at)).where(jobs.c.state == JobState.RETRY_WAIT.value)
    moment: int | None = transaction.connection.execute(query).scalar_one()
    return moment


def next_deadline(transaction: Transaction) -> int | None:
    """When the first of the jobs reaches its deadline."""
    moment: int | None = transaction.connection.execute(
        select(func.min(jobs.c.deadline_at))
    ).scalar_one()
    return moment


def ended_before(transaction: Transaction, moment: int, limit: int) -> list[Job]:
    """Jobs that ended before a moment, in milliseconds since 1970; the oldest first."""
    over = [state.value for state in TERMINAL]
    query = (
        select(*COLUMNS)
        .where(jobs.c.state.in_(over), jobs.c.finished_at < moment)
        .order_by(jobs.c.pk)
        .limit(limit)
    )
    return [Job.of(row) for row in transaction.connection.execute(query)]


def _all(transaction: Transaction, query: Select[tuple[object, ...]]) -> list[Job]:
    if transaction.is_writing:
        # Another replica moves the rest.
        query = query.with_for_update(skip_locked=True, key_share=True)
    return [Job.of(row) for row in transaction.connection.execute(query)]
