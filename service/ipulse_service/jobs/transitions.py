"""The one place that changes a job's state, and stores the event of each change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from ipulse_core import ids, strict_json
from ipulse_core.events import Level
from ipulse_core.states import ACTIVE, STATE_OF_PHASE, STOPPING, JobState, Reason, check_transition
from ipulse_service.agents.needs import Needs
from ipulse_service.datasets import references
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import events, store
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.news import outbox as news
from ipulse_service.news.message import MAX_TEXT

if TYPE_CHECKING:
    from ipulse.spec import AnySpec
    from ipulse_service.jobs.start.start_file import StartFile

RETRY_TOPIC = "retry"  # notified when a job starts to wait for another attempt

# The name under which the time in each state is shown.
PHASE_OF_STATE = {
    **{state: phase.value for phase, state in STATE_OF_PHASE.items()},
    JobState.QUEUED: "queue",
    JobState.CANCELLING: "cancel",
    JobState.PAUSING: "pause",
    JobState.PAUSED: "paused",
    JobState.RETRY_WAIT: "retry_wait",
    JobState.BLOCKED: "blocked",
}

# What a person does to a job that enters a state.
_ACTIONS = {
    JobState.CANCELLING: "cancel",
    JobState.CANCELLED: "cancel",
    JobState.PAUSING: "pause",
    JobState.PAUSED: "pause",
    JobState.QUEUED: "resume",
    JobState.BLOCKED: "resume",
}

# Levels of the log lines about what made a job enter these states.
_LEVELS: dict[JobState, Level] = {JobState.FAILED: "error", JobState.RETRY_WAIT: "warning"}

_NO_ATTRIBUTES = JobAttributes()
_ADD = insert(jobs).returning(*COLUMNS)  # built once, as the statements of `store`
# Columns that a transition changes, in addition to state and reason.
_MOVED = (
    "message",
    "phase_ms",
    "state_since",
    "finished_at",
    "deadline_at",
    "due_at",
    "retried_at",
)


def add(
    transaction: Transaction,
    spec: AnySpec,
    needs: Needs,
    text: str,
    sha256: str,
    options: SchedulingOptions,
    attributes: JobAttributes = _NO_ATTRIBUTES,
    start: StartFile | None = None,
    is_blocked: bool = False,
) -> JobRow:
    """Adds a queued or blocked job. `text` is the spec's canonical JSON and `sha256` its digest."""
    now = transaction.now
    state = JobState.BLOCKED if is_blocked else JobState.QUEUED
    values = {
        "id": ids.new_id(ids.JOB),
        "name": spec.name,
        "state": state.value,
        **needs._asdict(),
        "dataset_sha256": references.digest_of(spec),
        "spec": text,
        "spec_sha256": sha256,
        "metadata": strict_json.dumps(spec.metadata),
        "phase_ms": "{}",
        "created_at": now,
        "updated_at": now,
        "state_since": now,
        "queued_at": now,
        "last_seq": 1,
        **transaction.access.ownership(),
        **asdict(options),
        **attributes.columns(),
        **(start.columns() if start else {}),
        "deadline_at": options.deadline(state, now, now, started=False, run_ms=0),
    }
    job = JobRow.of(transaction.connection.execute(_ADD, values).one())
    transaction.audit("job.submit", job.id, job.project)
    events.begin(transaction, job.pk, _state_event(state, None, ""))
    return job


def move(
    transaction: Transaction,
    job: JobRow,
    after: JobState,
    reason: Reason | None = None,
    message: str = "",
    **columns: Any,
) -> JobRow:
    """Changes a job's state and stores the event.

    Raises IllegalTransition, or Conflict when the row changed since `job` was read.
    """
    moved, new_event = transition(transaction, job._replace(**columns), after, reason, message)
    attempt = moved.attempt or None
    new_events = [*_log_of_error(after, reason, message), new_event]
    last_seq = events.append(transaction, job.pk, job.last_seq, attempt, new_events)
    return store.update(transaction, job, moved._replace(last_seq=last_seq))


def move_all(
    transaction: Transaction,
    moves: Sequence[tuple[JobRow, JobState]],
    reason: Reason | None,
) -> None:
    """Changes the states of locked jobs as `move` does, in two statements for all of them."""
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for job, after in moves:
        moved, new_event = transition(transaction, job._replace(due_at=None), after, reason)
        rows += events.rows_of(
            transaction.now, job.pk, job.last_seq, job.attempt or None, [new_event]
        )
        changes.append(
            {
                **{name: getattr(moved, name) for name in _MOVED},
                "state": after.value,
                "reason": reason and reason.value,
                "last_seq": job.last_seq + 1,
                "version": job.version + 1,
                "updated_at": transaction.now,
                "was_pk": job.pk,
                "was_version": job.version,
            }
        )
        transaction.topics.add(job.id)
    if changes:
        events.insert_rows(transaction, rows)
        transaction.connection.execute(store.CHANGE, changes)


def transition(
    transaction: Transaction,
    job: JobRow,
    after: JobState,
    reason: Reason | None = None,
    message: str = "",
    spent_ms: int | None = None,
) -> tuple[JobRow, events.NewEvent]:
    """Returns the job in another state, and the event of that, without storing them.

    `spent_ms` is the time in the state that it leaves; by default, on the steady clock.
    The caller stores both with `store.update` and `events.append`. Raises IllegalTransition.
    """
    check_transition(job.state, after)
    phase_ms: dict[str, int] = json.loads(job.phase_ms)
    phase = PHASE_OF_STATE.get(job.state)  # None: it had ended, and is retried
    if phase is not None:
        if spent_ms is None:
            spent_ms = max(0, transaction.now - job.state_since)
        phase_ms[phase] = phase_ms.get(phase, 0) + spent_ms
        job = job._replace(phase_ms=strict_json.dumps(phase_ms))
    if after not in ACTIVE:
        transaction.topics.add(store.stop_topic(job.id))
    if after is JobState.RETRY_WAIT:
        transaction.topics.add(RETRY_TOPIC)
    deadline_at = job.options.deadline(
        after,
        job.limited_from,
        transaction.now,
        started=job.attempt > 0,
        run_ms=job.run_ms - job.retried_run_ms,
    )
    if job.finish_by is not None and not after.is_terminal and after not in STOPPING:
        deadline_at = min(job.finish_by, deadline_at or job.finish_by)
    moved = job._replace(
        deadline_at=deadline_at,
        state=after,
        reason=reason,
        message=message,
        state_since=transaction.now,
        finished_at=transaction.now if after.is_terminal else None,
    )
    if after.is_terminal:
        news.job_ended(transaction, after.value, _news(moved))
    transaction.audit(f"job.{_ACTIONS.get(after, after.value)}", job.id, job.project)
    access = transaction.access
    by = access.name if access.is_person else None
    return moved, _state_event(after, reason, message, by)


def _news(job: JobRow) -> dict[str, Any]:
    """Returns what receivers of news learn of a job."""
    return {
        "id": job.id,
        "name": job.name,
        "project": job.project,
        "state": job.state.value,
        "reason": job.reason.value if job.reason else None,
        "message": job.message[:MAX_TEXT],
        "group": job.group_name,
        "device": job.device,
        "attempt": job.attempt,
        "created_at": rfc3339(job.created_at),
        "started_at": rfc3339(job.started_at),
        "finished_at": rfc3339(job.finished_at),
        "path": f"/jobs/{job.id}",
    }


def _log_of_error(after: JobState, reason: Reason | None, message: str) -> list[events.NewEvent]:
    """Returns the log events of a failure or a lost attempt, so that the log alone explains it."""
    level = _LEVELS.get(after)
    if level is None or reason is None:
        return []
    lines = (f"{reason.value}: {message}" if message else reason.value).splitlines()
    return events.log_events(lines, level, "service")


def _state_event(
    state: JobState, reason: Reason | None, message: str, by: str | None = None
) -> events.NewEvent:
    """Returns the event of a change of state; `by` is the person or service account that asked."""
    body = {"state": state.value, "reason": reason.value if reason else None, "message": message}
    if by is not None:
        body["by"] = by
    return events.NewEvent("state", strict_json.dumps(body))
