"""Queues a failed job again: same id, same events; it resumes from its last checkpoint."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, exists, or_, select, update

from ipulse_core.errors import IllegalTransition
from ipulse_core.quotas import Quota
from ipulse_core.states import JobState, Reason
from ipulse_service.db.access import Action
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import ENDED, job_dependencies, jobs
from ipulse_service.jobs import artifacts, events, outbox, store, transitions
from ipulse_service.jobs.dependencies import BROKEN, WAITING
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.queue import admission, too_little
from ipulse_service.quotas import store as quotas

AT_ONCE = 500  # jobs of one statement
NAMED = 5  # jobs that a message names


class Dependents(NamedTuple):
    """The jobs that were cancelled because of another job's failure alone."""

    blocked: list[JobRow]  # they wait for it again
    with_code: list[JobRow]  # cancelled still: who retried it may not submit their code

    @property
    def message(self) -> str:
        """Says which jobs stay cancelled; empty without any."""
        if not self.with_code:
            return ""
        named = ", ".join(job.id for job in self.with_code[:NAMED])
        more = f" and {len(self.with_code) - NAMED} more" if len(self.with_code) > NAMED else ""
        return (
            f"Jobs with code that waited for it stay cancelled: {named}{more}. Retry them with a "
            "token that may submit code."
        )


def retry(
    transaction: Transaction, job: JobRow, retried_by: str, may_submit_code: bool = True
) -> list[JobRow]:
    """Queues a locked job again that has failed; returns it, and the jobs that wait for it again.

    Lost attempts and limits of time count anew. A job that was cancelled because another one failed
    is retried too, once that one was. Without the right to submit code, jobs with code that waited
    for the job stay cancelled, and its message names them. A job that has not ended is left
    unchanged, so that a repeated request is none: then the list is empty. Raises IllegalTransition
    for another end, and NoSuchDevice or NoMatchingAgent.
    """
    if not job.state.is_terminal:
        return []
    _check(transaction, job)
    quotas.check(transaction, Quota.QUEUED_JOBS, job.project, job.owner)
    # A worker may have enough now of what was too little before.
    requires = too_little.forgotten(job)
    admission.check(transaction, job._replace(requires=requires).needs, job.project)
    still_waits = _needed(transaction, job, WAITING) is not None
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
    after = JobState.BLOCKED if still_waits else JobState.QUEUED
    again = _block_again(transaction, job, may_submit_code)
    moved, state_event = transitions.transition(transaction, fresh, after, None, again.message)
    lines = events.log_events([f"Retried {start} by {retried_by}."], "info", "service")
    number = job.attempt or None
    last_seq = events.append(transaction, job.pk, job.last_seq, number, [*lines, state_event])
    moved = store.update(transaction, job, moved._replace(last_seq=last_seq))
    if not still_waits:
        outbox.add(transaction, moved)
    return [moved, *again.blocked]


def is_possible() -> ColumnElement[bool]:
    """Returns the condition on a job's row that `retry` has, apart from agents and rights."""
    is_broken = exists().where(
        job_dependencies.c.job_pk == jobs.c.pk, job_dependencies.c.state == BROKEN
    )
    only_waited = and_(
        jobs.c.state == JobState.CANCELLED.value, jobs.c.reason == Reason.DEPENDENCY_FAILED.value
    )
    has_failed = jobs.c.state == JobState.FAILED.value
    return and_(or_(has_failed, only_waited), jobs.c.imported_at.is_(None), ~is_broken)


def _check(transaction: Transaction, job: JobRow) -> None:
    """Raises IllegalTransition for a job that has not failed here, nor only waited for one."""
    why = ""
    broken = _needed(transaction, job, BROKEN)
    only_waited = job.reason is Reason.DEPENDENCY_FAILED
    if job.state is JobState.SUCCEEDED:
        why = "it has its results: continue it for more epochs, or clone it"
    elif only_waited and broken:
        why = f"retry the job that it waited for. {job.message}"
    elif job.state is JobState.CANCELLED and not only_waited:
        has_checkpoint = artifacts.latest_checkpoint(transaction, job) is not None
        why = "continue it from its last checkpoint" if has_checkpoint else "clone it"
    elif job.imported_at is not None:
        why = "it ran on another service, and what it needs may not be here: clone it"
    elif broken:
        why = f"retry the job that it waits for first: {broken}"
    if why:
        raise IllegalTransition(f"a job that is {job.state.value} cannot be retried: {why}")


def _block_again(transaction: Transaction, retried: JobRow, may_submit_code: bool) -> Dependents:
    """Makes the jobs wait again that wait for this one and have not begun.

    Those that were cancelled for this reason alone are blocked again, and so are those that waited
    for them. Without the right to submit code, jobs with code stay cancelled.
    """
    found = Dependents([], [])
    level = [retried.pk]
    while level:
        again = _wait_again(transaction, level[:AT_ONCE])
        blocked = []
        for job in again:
            if job.state is not JobState.CANCELLED or job.reason is not Reason.DEPENDENCY_FAILED:
                continue
            may = may_submit_code and transaction.access.decide(Action.SUBMIT_CODE, job.project)
            if job.needs.has_code and not may:
                found.with_code.append(job)
            else:
                blocked.append(job._replace(retried_at=transaction.now))
        transitions.move_all(transaction, [(job, JobState.BLOCKED) for job in blocked], None)
        found.blocked.extend(blocked)
        level = [*level[AT_ONCE:], *(job.pk for job in blocked)]
    return found


def _wait_again(transaction: Transaction, needed: Collection[int]) -> list[JobRow]:
    """Marks what waits for these jobs; returns the locked jobs without another broken wait."""
    edges = (job_dependencies.c.needs_pk.in_(needed), job_dependencies.c.on_end != "compiled")
    waiting = (
        jobs.c.pk.in_(select(job_dependencies.c.job_pk).where(*edges)),
        jobs.c.attempt == 0,
        jobs.c.state.in_([JobState.BLOCKED.value, *ENDED]),
    )
    locked = select(*COLUMNS).where(*waiting).order_by(jobs.c.pk).with_for_update(key_share=True)
    found = [JobRow.of(row) for row in transaction.connection.execute(locked)]
    pks = select(jobs.c.pk).where(*waiting)
    change = update(job_dependencies).where(*edges, job_dependencies.c.job_pk.in_(pks))
    transaction.connection.execute(change.values(state=WAITING))
    other = select(job_dependencies.c.job_pk).where(
        job_dependencies.c.job_pk.in_(pks), job_dependencies.c.state == BROKEN
    )
    still_broken = set(transaction.connection.execute(other).scalars())
    return [job for job in found if job.pk not in still_broken]


def _needed(transaction: Transaction, job: JobRow, state: str) -> str | None:
    """Returns the id of a job that this one waits for in this state, None without one."""
    query = select(job_dependencies.c.needs_id).where(
        job_dependencies.c.job_pk == job.pk, job_dependencies.c.state == state
    )
    found: str | None = transaction.connection.execute(query.limit(1)).scalar_one_or_none()
    return found
