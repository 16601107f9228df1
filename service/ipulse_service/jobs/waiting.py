"""Why a job waits, its position in the queue, and when it may start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select

from ipulse_core.states import ACTIVE, STOPPING, JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import agents, queue_order
from ipulse_service.jobs.job import JobRow

RECENT = 20  # finished jobs of the same kind from which the duration is estimated

Why = Literal["no_agent", "device_busy", "wake_up", "retry", "paused", "quarantine"]


@dataclass(frozen=True)
class Waiting:
    """The reason for a job's wait. `estimated_start` is in milliseconds since 1970."""

    reason: Why
    position: int | None = None  # in the queue, from 1
    holder: str | None = None  # id of the job that has used a device of this kind longest
    estimated_start: int | None = None


def of_job(transaction: Transaction, job: JobRow) -> Waiting | None:
    """Returns why a job waits, None if it does not."""
    if job.state is JobState.PAUSED:
        return Waiting("paused")
    if job.state is JobState.RETRY_WAIT:
        return Waiting("retry", estimated_start=job.due_at)
    if job.state is not JobState.QUEUED:
        return None
    position = 1 + queue_order.count_ahead(transaction, job)
    present = agents.count_present(transaction, job.device)
    holders = _holders(transaction, job.device)
    holder = holders[0][0] if holders else None
    if not present:
        why: Why = "quarantine" if agents.are_quarantined(transaction, job.device) else "no_agent"
        return Waiting(why, position, holder)
    free = max(0, present - len(holders))
    if position <= free:
        return Waiting("wake_up", position, None, transaction.now)
    usual = _usual_ms(transaction, job.device)
    start = None
    if usual is not None and holders:
        left = max(0, usual - (transaction.now - holders[0][1]))
        start = transaction.now + left + (position - free - 1) // present * usual
    return Waiting("device_busy", position, holder, start)


def _holders(transaction: Transaction, device: str) -> list[tuple[str, int]]:
    """Returns ids and start times of the jobs that agents hold, the longest held first."""
    holding = [*ACTIVE, *STOPPING]
    query = (
        select(jobs.c.id, jobs.c.started_at)
        .where(jobs.c.state.in_([state.value for state in holding]), jobs.c.device == device)
        .order_by(jobs.c.started_at)
    )
    return [(row.id, row.started_at) for row in transaction.connection.execute(query)]


def _usual_ms(transaction: Transaction, device: str) -> int | None:
    """Returns the mean duration of recent successful jobs, None before the first."""
    latest = (
        select((jobs.c.finished_at - jobs.c.started_at).label("took"))
        .where(jobs.c.state == JobState.SUCCEEDED.value, jobs.c.device == device)
        .order_by(jobs.c.pk.desc())
        .limit(RECENT)
        .subquery()
    )
    mean = transaction.connection.execute(select(func.avg(latest.c.took))).scalar_one()
    return None if mean is None else round(mean)
