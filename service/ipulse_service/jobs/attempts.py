"""Transitions of attempts and jobs: finish, cancel, pause, resume, expire, retry."""

from __future__ import annotations

from dataclasses import replace

from ipulse_core import strict_json
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import Conflict, IllegalTransition, StaleToken
from ipulse_core.quotas import Quota
from ipulse_core.states import (
    CANCELLABLE,
    COMPLETE,
    IDLE,
    OUTCOMES,
    STOPPED,
    JobState,
    Reason,
)
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import (
    artifacts,
    events,
    finishing,
    leases,
    losses,
    outbox,
    store,
    transitions,
)
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue import found_missing, order, preemption, too_little
from ipulse_service.jobs.search import metrics_index
from ipulse_service.quotas import store as quotas
from ipulse_service.quotas import usage
from ipulse_service.settings import Settings

DOUBLINGS = 3  # the wait before another attempt doubles at most this often


class Incomplete(Conflict):
    """The manifest of the attempt is not stored, so that it cannot be complete."""

    code = "incomplete"


def finish(
    transaction: Transaction, attempt: AttemptRow, outcome: AttemptOutcome, settings: Settings
) -> JobRow:
    """Ends an attempt with the outcome that its agent reports; a repetition changes nothing.

    An agent that was taken for dead may still say that it has stopped the attempt. Raises
    StaleToken if the attempt ended otherwise, and Incomplete without a manifest.
    """
    job = store.get_by_pk(transaction, attempt.job_pk)
    if attempt.finished_at is not None:
        if _is_repetition(attempt, outcome):
            return job
        was_lost = attempt.reason == Reason.WORKER_LOST.value and not job.state.is_terminal
        if was_lost and outcome.reason is Reason.WORKER_STOPPED:
            return losses.correct(transaction, job, attempt, outcome)
        raise StaleToken()
    if outcome.reason in COMPLETE and not artifacts.is_complete(transaction, attempt):
        raise Incomplete()
    return conclude(transaction, job, attempt, outcome, settings)


def conclude(
    transaction: Transaction,
    job: JobRow,
    attempt: AttemptRow,
    outcome: AttemptOutcome,
    settings: Settings,
    silent_ms: int = 0,
) -> JobRow:
    """Ends an attempt and moves its job to a final state or to another attempt.

    The wait before another attempt grows with each loss that counts; after others there is none.
    The time since the last sign of this attempt, `silent_ms`, counts as a part of the wait and not
    as time of the run: its agent or the service may have been off.
    """
    if attempt.preempted_for and outcome.reason is Reason.WORKER_STOPPED:
        message = f"It made room for {preemption.named(transaction, job, attempt.preempted_for)}."
        outcome = AttemptOutcome(Reason.PREEMPTED, message, outcome.summary)
    job = too_little.note(transaction, job, attempt, outcome.lacking)
    job = job._replace(state_since=min(job.state_since + silent_ms, transaction.now))
    is_pausing = job.state is JobState.PAUSING
    is_stopped = outcome.reason in STOPPED
    ended = _why_it_was_stopped(job, outcome) if is_stopped else outcome
    if outcome.reason is Reason.FINISHED_EARLY and job.finish_reason:
        ended = outcome = replace(outcome, reason=Reason(job.finish_reason))
    leases.write(
        transaction,
        attempt,
        finished_at=transaction.now,
        reason=ended.reason.value,
        message=ended.message,
        summary=strict_json.dumps(ended.summary),
    )
    usage.add(transaction, job, attempt, transaction.now, ended.reason)
    summary = strict_json.dumps(outcome.summary) if outcome.summary else None
    if job.state is JobState.CANCELLING and outcome.reason not in COMPLETE:
        # The attempt was asked to stop; how it stopped does not matter.
        reason = job.reason or Reason.CANCELLED_BY_USER
        message = job.message or outcome.message
        if outcome.summary:
            metrics_index.add_summary(transaction, job.pk, outcome.summary)
        return transitions.move(
            transaction, job, OUTCOMES[reason], reason, message, summary=summary
        )
    is_lost = losses.is_loss(job, outcome.reason)
    was_missing = found_missing.withdraw(transaction, job, attempt, outcome)
    is_counted = not was_missing and losses.counts(job, attempt, outcome.reason)
    if is_pausing and (is_lost or is_stopped):
        return transitions.move(transaction, job, JobState.PAUSED)
    why_hopeless = too_little.why_hopeless(transaction, job) if outcome.lacking else ""
    if is_lost and not why_hopeless and job.losses + is_counted < settings.max_attempts:
        wait_ms = round(settings.retry_seconds * 1000) * 2 ** min(job.losses, DOUBLINGS)
        wait_ms = max(0, wait_ms - silent_ms) if is_counted else 0
        return transitions.move(
            transaction,
            job,
            JobState.RETRY_WAIT,
            outcome.reason,
            outcome.message,
            due_at=transaction.now + wait_ms,
            losses=job.losses + is_counted,
        )
    if outcome.summary:
        metrics_index.add_summary(transaction, job.pk, outcome.summary)
    message = outcome.message
    if why_hopeless:
        message = f"{message} {why_hopeless}".lstrip()
    elif is_lost:
        often = f"{job.losses + 1} times in a row without a new checkpoint"
        times = often if job.losses else "once"
        message = f"{message} The job was lost {times} and is not retried.".lstrip()
    return transitions.move(
        transaction, job, OUTCOMES[outcome.reason], outcome.reason, message, summary=summary
    )


def cancel(transaction: Transaction, job: JobRow) -> JobRow:
    """Cancels a job: at once if no attempt holds it, otherwise by asking its agent to stop."""
    after = cancelled_state(job)
    if after is None:
        return job
    return transitions.move(transaction, job, after, Reason.CANCELLED_BY_USER, due_at=None)


def cancelled_state(job: JobRow) -> JobState | None:
    """Returns the state that a cancellation leads to, None if it changes nothing."""
    if job.state not in CANCELLABLE:
        return None
    return JobState.CANCELLED if job.state in IDLE else JobState.CANCELLING


def pause(transaction: Transaction, job: JobRow) -> JobRow:
    """Takes a job out of the queue, or asks its agent to stop at a checkpoint.

    Raises IllegalTransition for a job that is being cancelled or is over.
    """
    if job.state in (JobState.PAUSING, JobState.PAUSED):
        return job
    if job.state in IDLE:
        return transitions.move(transaction, job, JobState.PAUSED, due_at=None)
    # It is to continue later, so that a request to finish ends here.
    return transitions.move(transaction, job, JobState.PAUSING, finish_by=None, finish_reason=None)


def resume(transaction: Transaction, job: JobRow) -> JobRow:
    """Queues a paused job again; it resumes from its last checkpoint.

    A job that is not paused is left unchanged. Raises IllegalTransition for a job that is being
    paused or has ended.
    """
    if job.state is not JobState.PAUSED:
        if job.state is JobState.PAUSING or job.state.is_terminal:
            raise IllegalTransition(f"a job that is {job.state.value} cannot be resumed")
        return job
    quotas.check(transaction, Quota.QUEUED_JOBS, job.project, job.owner)
    # It left the queue on request, so that it gets a new position.
    queued = transitions.move(transaction, job, JobState.QUEUED, queued_at=transaction.now)
    outbox.add(transaction, queued)
    return queued


def change_priority(
    transaction: Transaction, job: JobRow, priority: int, changed_by: str
) -> JobRow:
    """Changes the priority of a job that has not ended, and says so in its log.

    Raises IllegalTransition for a job that has ended.
    """
    if job.state.is_terminal:
        raise IllegalTransition(f"a job that is {job.state.value} has no priority any more")
    if job.priority == priority:
        return job
    quotas.check_priority(transaction, job.project, job.owner, priority, "/priority")
    text = f"The priority was changed from {job.priority} to {priority} by {changed_by}."
    lines = events.log_events([text], "info", "service")
    last_seq = events.append(transaction, job.pk, job.last_seq, job.attempt or None, lines)
    transaction.audit("job.priority", job.id, job.project, f"{job.priority} to {priority}")
    return store.update(transaction, job, job._replace(priority=priority, last_seq=last_seq))


def expire(transaction: Transaction) -> list[JobRow]:
    """Fails every job that missed its deadline, or asks its agent to stop."""
    late = []
    for job in order.overdue(transaction):
        if finishing.is_late(job, transaction.now):
            late.append(finishing.give_up(transaction, job))
            continue
        message = job.options.deadline_message(
            job.state, job.limited_from, transaction.now, retried=job.retried_at is not None
        )
        after = JobState.FAILED if job.state in IDLE else JobState.CANCELLING
        late.append(
            transitions.move(
                transaction, job, after, Reason.DEADLINE_EXCEEDED, message, due_at=None
            )
        )
    return late


def reap(
    transaction: Transaction, settings: Settings, expired_by: int | None = None
) -> list[JobRow]:
    """Ends every attempt with an expired lease (`leases.expired`): its worker counts as lost."""
    concluded = []
    for attempt in leases.expired(transaction, expired_by):
        job = store.get_by_pk(transaction, attempt.job_pk)
        message = f"The agent {attempt.agent} sent no heartbeat for {settings.lease_seconds:g} s."
        outcome = AttemptOutcome(Reason.WORKER_LOST, message)
        lease_ms = round(settings.lease_seconds * 1000)
        silent_ms = transaction.now - (attempt.lease_expires_at - lease_ms)
        concluded.append(conclude(transaction, job, attempt, outcome, settings, silent_ms))
    return concluded


def requeue(transaction: Transaction) -> list[JobRow]:
    """Queues every job that has waited long enough for another attempt."""
    queued = []
    for job in order.due(transaction):
        moved = transitions.move(
            transaction, job, JobState.QUEUED, job.reason, job.message, due_at=None
        )
        outbox.add(transaction, moved)
        queued.append(moved)
    return queued


def _why_it_was_stopped(job: JobRow, outcome: AttemptOutcome) -> AttemptOutcome:
    """Returns the outcome of an attempt that was asked to stop; its runner does not know why."""
    if job.state is JobState.PAUSING:
        return AttemptOutcome(Reason.PAUSED_BY_USER, "Paused.", outcome.summary)
    if job.state is JobState.CANCELLING and job.reason is not None:  # by the user, or too late
        return AttemptOutcome(job.reason, job.message or outcome.message, outcome.summary)
    return AttemptOutcome(Reason.CANCELLED_BY_USER, outcome.message, outcome.summary)


def _is_repetition(attempt: AttemptRow, outcome: AttemptOutcome) -> bool:
    """Returns whether an attempt that ended may have ended by this report of its agent."""
    summary = strict_json.loads(attempt.summary or "{}")
    reason = Reason(attempt.reason)
    if outcome.reason is Reason.FINISHED_EARLY and reason is Reason.PRUNED:
        outcome = replace(outcome, reason=reason)
    if outcome.reason is Reason.WORKER_STOPPED and reason is Reason.PREEMPTED:
        return True
    if outcome.reason in STOPPED and reason in (*STOPPED, Reason.DEADLINE_EXCEEDED):
        return bool(summary == outcome.summary)
    return AttemptOutcome(reason, attempt.message, summary) == outcome
