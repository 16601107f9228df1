"""Device time: what attempts have used, by owner, project, kind of device, month and outcome.

The device time of an attempt is the time between its beginning and its end, times the number of
IPUs that its job attaches, or 1. It is counted when the attempt ends, in the month of its end, and
stays when the job is deleted.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, func, insert, select, update

from ipulse_core.states import INFRASTRUCTURE, OUTCOMES, STOPPED, Reason
from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, fair_usage, jobs, sweep_jobs, sweep_trials, usage

if TYPE_CHECKING:
    from ipulse_service.jobs.job import JobRow
    from ipulse_service.jobs.leases import AttemptRow

LOST, STOPPED_EARLY = "lost", "stopped"


class RunningAttempt(NamedTuple):
    """An attempt that holds a job. Times are milliseconds since 1970."""

    pk: int
    agent: str
    started_at: int
    preempted_for: str | None
    job_pk: int
    state: str
    project: str
    owner: str
    priority: int
    device: str
    ipus: int

    @property
    def devices(self) -> int:
        """The number of its devices."""
        return devices_of(self.ipus)


class UsedTime(NamedTuple):
    """Device time of attempts that have ended."""

    project: str
    owner: str
    device: str
    month: str
    outcome: str  # succeeded, stopped, failed or lost
    device_ms: int
    attempts: int


_COLUMNS = tuple(usage.c[name] for name in UsedTime._fields)
_KEY = ("project", "owner", "device", "month", "outcome")
_ADD = (
    update(usage)
    .where(*(usage.c[name] == bindparam(f"of_{name}") for name in _KEY))
    .values(
        device_ms=usage.c.device_ms + bindparam("more_ms"),
        attempts=usage.c.attempts + bindparam("more"),
    )
)
_FAIR = select(fair_usage.c.device_ms, fair_usage.c.at).where(
    fair_usage.c.project == bindparam("of_project"), fair_usage.c.owner == bindparam("of_owner")
)
_SET_FAIR = update(fair_usage).where(
    fair_usage.c.project == bindparam("of_project"), fair_usage.c.owner == bindparam("of_owner")
)


def devices_of(ipus: int) -> int:
    """Returns the number of devices of a job that attaches so many IPUs."""
    return max(1, ipus)


def outcome_of(reason: Reason) -> str:
    """Returns how the end of an attempt for this reason is counted."""
    if reason in STOPPED or reason is Reason.PREEMPTED:
        return STOPPED_EARLY
    return LOST if reason in INFRASTRUCTURE else OUTCOMES[reason].value


def month_of(moment: int) -> str:
    """Returns the month of a stored time in UTC, such as 2026-01."""
    return datetime.fromtimestamp(calendar.shown(moment) / 1000, UTC).strftime("%Y-%m")


def next_month(moment: int) -> int:
    """Returns when the next month begins."""
    now = datetime.fromtimestamp(calendar.shown(moment) / 1000, UTC)
    begin = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
    return moment + round((begin - now).total_seconds() * 1000)


def decayed(device_ms: float, since_ms: int, half_life_ms: float) -> float:
    """Returns what is left of device time after a time. A half-life of 0 forgets at once."""
    if half_life_ms <= 0:
        return 0.0
    return float(device_ms * 2.0 ** (-max(0, since_ms) / half_life_ms))


def add(
    transaction: Transaction, job: JobRow, attempt: AttemptRow, ended_at: int, reason: Reason
) -> None:
    """Counts an attempt that ends."""
    _count(transaction, job, attempt, ended_at, reason, 1)


def take_back(transaction: Transaction, job: JobRow, attempt: AttemptRow) -> None:
    """Counts an attempt no more that was taken for lost and goes on."""
    if attempt.finished_at is not None:
        reason = Reason(attempt.reason)
        _count(transaction, job, attempt, attempt.finished_at, reason, -1)


def _count(
    transaction: Transaction,
    job: JobRow,
    attempt: AttemptRow,
    ended_at: int,
    reason: Reason,
    sign: int,
) -> None:
    device_ms = sign * devices_of(job.ipus) * max(0, ended_at - attempt.started_at)
    outcome = outcome_of(reason)
    key = dict(
        zip(_KEY, (job.project, job.owner, job.device, month_of(ended_at), outcome), strict=True)
    )
    execute = transaction.connection.execute
    transaction.lock(f"usage/{job.project}/{job.owner}")
    change = {f"of_{name}": value for name, value in key.items()}
    if not execute(_ADD, {**change, "more_ms": device_ms, "more": sign}).rowcount:
        execute(insert(usage), {**key, "device_ms": device_ms, "attempts": sign})
    if outcome == LOST:
        return  # nobody's fault: it is not held against the owner
    account = {"of_project": job.project, "of_owner": job.owner}
    now = transaction.now
    former = execute(_FAIR, account).one_or_none()
    if former is None:
        values = {"project": job.project, "owner": job.owner, "device_ms": device_ms, "at": now}
        execute(insert(fair_usage), values)
        return
    left = decayed(former.device_ms, now - former.at, transaction.usage_half_life_ms)
    at = max(now, former.at)
    execute(_SET_FAIR, {**account, "device_ms": max(0.0, left + device_ms), "at": at})


def read(
    transaction: Transaction, first: str | None = None, last: str | None = None
) -> list[UsedTime]:
    """Returns the device time that the caller may see, of months from `first` to `last`.

    That is all of the projects of which it reads the jobs.
    """
    query = select(*_COLUMNS).where(transaction.access.where(usage))
    if first is not None:
        query = query.where(usage.c.month >= first)
    if last is not None:
        query = query.where(usage.c.month <= last)
    query = query.order_by(*(usage.c[name] for name in ("month", *_KEY[:3], "outcome")))
    return [UsedTime._make(row) for row in transaction.connection.execute(query)]


def devices() -> ColumnElement[int]:
    """Returns the number of devices of a job, in SQL."""
    return case((jobs.c.ipus > 0, jobs.c.ipus), else_=1)


def running(transaction: Transaction) -> list[RunningAttempt]:
    """Returns the attempts that hold a job."""
    return [*map(RunningAttempt._make, transaction.connection.execute(_RUNNING))]


_RUNNING: Select[Any] = (
    select(
        *(attempts.c[name] for name in ("pk", "agent", "started_at", "preempted_for")),
        jobs.c.pk,
        *(jobs.c[name] for name in ("state", "project", "owner", "priority", "device", "ipus")),
    )
    .join(jobs, jobs.c.pk == attempts.c.job_pk)
    .where(attempts.c.finished_at.is_(None))
)


def of_sweep(transaction: Transaction, sweep_pk: int) -> dict[str, int]:
    """Returns the device time of a sweep's jobs in milliseconds, by outcome.

    Deleted jobs have none any more; attempts that run are counted up to now as `running`.
    """
    ended = func.coalesce(attempts.c.finished_at, transaction.now)
    spent = devices() * (ended - attempts.c.started_at)
    query = (
        select(attempts.c.reason, func.sum(spent))
        .join(jobs, jobs.c.pk == attempts.c.job_pk)
        .join(sweep_jobs, sweep_jobs.c.job_pk == jobs.c.pk)
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .where(sweep_trials.c.sweep_pk == sweep_pk)
        .group_by(attempts.c.reason)
    )
    found: dict[str, int] = {}
    for reason, spent_ms in transaction.connection.execute(query):
        outcome = "running" if reason is None else outcome_of(Reason(reason))
        found[outcome] = found.get(outcome, 0) + int(spent_ms)
    return found
