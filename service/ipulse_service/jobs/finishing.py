"""Finish a job now: its training ends after the present step, with all its results."""

from __future__ import annotations

from typing import NamedTuple

from ipulse_core.errors import Conflict, IllegalTransition
from ipulse_core.states import ACTIVE, IDLE, STOPPING, JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import events, leases, store, transitions
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.settings import Settings

FINISH_PROTOCOL = 7  # agents from this protocol on can finish a training

_REQUESTS = {
    Reason.FINISHED_EARLY: "The training is asked to finish now, with its results.",
    Reason.PRUNED: "The sweep stops this trial; the training finishes now, with its results.",
}


class AgentTooOld(Conflict):
    """The agent of this job cannot finish a training early: upgrade it, or cancel the job."""

    code = "agent_too_old"


class StopOrders(NamedTuple):
    """The orders for the agent of an attempt."""

    cancel: bool  # stop the job
    finish: bool  # end its training now, with all its results


def orders(transaction: Transaction, attempt: AttemptRow) -> StopOrders:
    """Returns what the agent of an attempt must do."""
    job = store.get_by_pk(transaction, attempt.job_pk)
    cancel = job.state in STOPPING
    return StopOrders(cancel, not cancel and job.finish_by is not None)


def finish(
    transaction: Transaction,
    job: JobRow,
    settings: Settings,
    reason: Reason = Reason.FINISHED_EARLY,
) -> JobRow:
    """Asks the agent of a job to end its training now. A repetition changes nothing.

    A job that has ended is left unchanged. Raises IllegalTransition for a job that no agent holds
    or that is asked to stop, and AgentTooOld.
    """
    if job.state.is_terminal or job.finish_by is not None:
        return job
    if job.state in IDLE or job.state in STOPPING:
        hint = "cancel it instead" if job.state in IDLE else "it ends without new results"
        raise IllegalTransition(f"a job that is {job.state.value} cannot finish early: {hint}")
    attempt = leases.of_job(transaction, job.pk)[-1]
    if attempt.protocol < FINISH_PROTOCOL:
        raise AgentTooOld()
    finish_by = transaction.now + round(settings.finish_seconds * 1000)
    lines = events.log_events([_REQUESTS[reason]], "info", "service")
    last_seq = events.append(transaction, job.pk, job.last_seq, job.attempt, lines)
    transaction.audit("job.finish", job.id, job.project)
    transaction.topics.add(store.stop_topic(job.id))
    moved = job._replace(
        finish_by=finish_by,
        finish_reason=reason.value,
        deadline_at=min(finish_by, job.deadline_at or finish_by),
        last_seq=last_seq,
    )
    return store.update(transaction, job, moved)


def is_late(job: JobRow, now: int) -> bool:
    """Returns whether the grace time of a request to finish is over."""
    return job.finish_by is not None and job.finish_by <= now


def give_up(transaction: Transaction, job: JobRow) -> JobRow:
    """Cancels a job that did not finish within the grace time."""
    after = JobState.CANCELLING if job.state in ACTIVE else JobState.CANCELLED
    message = "The training did not finish within the time that IPULSE_FINISH_SECONDS allows."
    return transitions.move(transaction, job, after, Reason.CANCELLED_BY_USER, message, due_at=None)
