"""Lost attempts: which of them count in `jobs.losses`, and agents that return after all.

The count is of attempts in a row. What the job cannot have caused does not count: a stop of its
agent, and a claim whose answer never arrived. A new checkpoint sets it to 0, so that only a job
that makes no progress fails.

A lease that has expired is no proof that its agent died: the network may have been cut. If the
agent returns before another attempt has begun, its attempt continues.
"""

from __future__ import annotations

import json

from sqlalchemy import bindparam, select

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import StaleToken
from ipulse_core.events import CheckpointEvent
from ipulse_core.states import ACTIVE, COUNTED, INFRASTRUCTURE, JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs import leases, store, transitions
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.quotas import usage

_STATES = (
    select(events.c.body)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.attempt == bindparam("number"),
        events.c.kind == "state",
    )
    .order_by(events.c.seq.desc())
)


_CHECKPOINTS = select(events.c.body).where(
    events.c.job_pk == bindparam("of_job"), events.c.kind == "checkpoint"
)


def is_loss(job: JobRow, reason: Reason) -> bool:
    """Returns whether another attempt follows an attempt that ended for this reason."""
    # Uploaded data are the service's: another worker, or the same one later, can get them.
    is_ours = reason is Reason.DATA_UNAVAILABLE and job.dataset_sha256 is not None
    return reason in INFRASTRUCTURE or is_ours


def counts(job: JobRow, attempt: AttemptRow, reason: Reason) -> bool:
    """Returns whether an attempt that ended for this reason counts as lost.

    An agent reports events before it starts a runner. Without one, the agent may not even know
    of the attempt: the answer to its claim was lost.
    """
    if reason is Reason.WORKER_LOST and attempt.next_event == 1:
        return False
    return is_loss(job, reason) and (reason in COUNTED or reason not in INFRASTRUCTURE)


def after_checkpoint(transaction: Transaction, job: JobRow, event: CheckpointEvent) -> JobRow:
    """Returns the job with a count of 0 if this checkpoint is further than all before it."""
    if not job.losses:
        return job
    former = transaction.connection.execute(_CHECKPOINTS, {"of_job": job.pk}).scalars()
    furthest = max((json.loads(body)["step"] for body in former), default=-1)
    return job._replace(losses=0) if event.step > furthest else job


def correct(
    transaction: Transaction, job: JobRow, attempt: AttemptRow, outcome: AttemptOutcome
) -> JobRow:
    """Stores the outcome of an attempt that was taken for lost, and counts it no more.

    Another attempt may have begun, and lost the job again or stored a checkpoint.
    """
    later = [
        other
        for other in leases.of_job(transaction, job.pk)
        if other.number > attempt.number
        and other.reason
        and counts(job, other, Reason(other.reason))
    ]
    leases.correct(transaction, attempt, outcome)
    if not counts(job, attempt, Reason.WORKER_LOST) or job.losses <= len(later):
        return job
    return store.update(transaction, job, job._replace(losses=job.losses - 1))


def hold(transaction: Transaction, attempt_id: str, fence: str, lease_seconds: float) -> AttemptRow:
    """Returns the attempt if it holds its job now. Raises StaleToken otherwise.

    An expired lease holds the job until the reaper ends the attempt, and again from the agent's
    next request on, unless another attempt has begun.
    """
    attempt = leases.check_fence(transaction, attempt_id, fence)
    if attempt.finished_at is None:
        return attempt
    job = store.get_by_pk(transaction, attempt.job_pk)
    if not may_continue(job, attempt):
        raise StaleToken()
    return reopen(transaction, job, attempt, lease_seconds) if transaction.is_writing else attempt


def hold_to_finish(
    transaction: Transaction,
    attempt_id: str,
    fence: str,
    outcome: AttemptOutcome,
    lease_seconds: float,
    brings_nothing: bool = False,
) -> AttemptRow:
    """Returns the attempt that an agent finishes, which may have ended.

    One that was taken for lost continues, so that it can be completed. An end that brings neither
    events nor files may come from another agent of the machine, for one that has died.
    """
    attempt = leases.check_fence(transaction, attempt_id, fence, releases=brings_nothing)
    if attempt.finished_at is None or outcome.reason in (Reason.WORKER_LOST, Reason.WORKER_STOPPED):
        return attempt
    job = store.get_by_pk(transaction, attempt.job_pk)
    if not may_continue(job, attempt):
        return attempt
    return reopen(transaction, job, attempt, lease_seconds)


def may_continue(job: JobRow, attempt: AttemptRow) -> bool:
    """Returns whether an attempt that was taken for lost may go on: nobody else has begun."""
    return (
        attempt.reason == Reason.WORKER_LOST.value
        and attempt.number == job.attempt
        and job.state in (JobState.RETRY_WAIT, JobState.QUEUED)
    )


def reopen(
    transaction: Transaction, job: JobRow, attempt: AttemptRow, lease_seconds: float
) -> AttemptRow:
    """Continues an attempt that was taken for lost, with a new lease, in the phase that it had."""
    state = _state_of(transaction, attempt)
    losses = job.losses - counts(job, attempt, Reason.WORKER_LOST)
    usage.take_back(transaction, job, attempt)
    continued = leases.reopen(transaction, attempt, lease_seconds)
    if job.state is JobState.RETRY_WAIT:
        job = transitions.move(transaction, job, JobState.QUEUED, due_at=None)
    job = transitions.move(transaction, job, JobState.PREPARING, losses=max(0, losses), due_at=None)
    if state is not JobState.PREPARING:
        transitions.move(transaction, job, state)
    return continued


def _state_of(transaction: Transaction, attempt: AttemptRow) -> JobState:
    """Returns the state of the job when the attempt was last known to run."""
    values = {"of_job": attempt.job_pk, "number": attempt.number}
    for body in transaction.connection.execute(_STATES, values).scalars():
        state = JobState(json.loads(body)["state"])
        if state in ACTIVE:
            return state
    return JobState.PREPARING
