"""Counts the attempts that a job has lost in a row: `jobs.losses`.

What the job cannot have caused does not count: a stop of its agent, and a claim whose answer never
arrived. A new checkpoint sets the count to 0, so that only a job that makes no progress fails.
"""

from __future__ import annotations

import json

from sqlalchemy import bindparam, select

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.events import CheckpointEvent
from ipulse_core.states import COUNTED, INFRASTRUCTURE, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs import leases, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow

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
