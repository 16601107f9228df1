"""Queues a failed job again: same id, same events; it resumes from its last checkpoint."""

from __future__ import annotations

from ipulse_core.errors import IllegalTransition
from ipulse_core.states import JobState, Reason
from ipulse_service.background import outbox
from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.jobs import events, store, transitions
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import admission, too_little
from ipulse_service.jobs.queue.needs import Needs
from ipulse_service.jobs.retry import dependents


def retry(transaction: Transaction, job: JobRow, retried_by: str) -> list[JobRow]:
    """Queues a locked job again that has failed; returns it, and the jobs that wait for it again.

    Lost attempts and limits of time count anew. A job that has not ended is left unchanged, so
    that a repeated request is none: then the list is empty. Raises IllegalTransition for another
    end, and NoSuchDevice or NoMatchingAgent.
    """
    if not job.state.is_terminal:
        return []
    _check(transaction, job)
    # A worker may have enough now of what was too little before.
    requires = too_little.forgotten(job)
    admission.check(transaction, Needs.of_job(job._replace(requires=requires)))
    waits = dependents.waits(transaction, job)
    has_checkpoint = artifacts.latest_checkpoint(transaction, job) is not None
    start = "from its last checkpoint" if has_checkpoint else "from the beginning"
    fresh = job._replace(
        queued_at=transaction.now,
        retried_at=transaction.now,
        retried_run_ms=job.run_ms,
        losses=0,
        requires=requires,
        summary=None,
        due_at=None,
        finish_by=None,
        finish_reason=None,
    )
    after = JobState.BLOCKED if waits else JobState.QUEUED
    moved, state_event = transitions.transition(transaction, fresh, after)
    lines = events.log_events([f"Retried {start} by {retried_by}."], "info", "service")
    number = job.attempt or None
    last_seq = events.append(transaction, job.pk, job.last_seq, number, [*lines, state_event])
    moved = store.update(transaction, job, moved._replace(last_seq=last_seq))
    if not waits:
        outbox.add(transaction, moved)
    return [moved, *dependents.block_again(transaction, [job])]


def _check(transaction: Transaction, job: JobRow) -> None:
    """Raises IllegalTransition for a job that has not failed here."""
    why = ""
    if job.state is JobState.SUCCEEDED:
        why = "it has its results: continue it for more epochs, or clone it"
    elif job.reason is Reason.DEPENDENCY_FAILED:
        why = f"retry the job that it waited for. {job.message}"
    elif job.state is JobState.CANCELLED:
        has_checkpoint = artifacts.latest_checkpoint(transaction, job) is not None
        why = "continue it from its last checkpoint" if has_checkpoint else "clone it"
    elif job.imported_at is not None:
        why = "it ran on another service, and what it needs may not be here: clone it"
    elif broken := dependents.broken(transaction, job):
        why = f"retry the job that it waits for first: {broken}"
    if why:
        raise IllegalTransition(f"a job that is {job.state.value} cannot be retried: {why}")
