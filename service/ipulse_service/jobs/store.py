"""Job rows: add, get, lock, update, and the one function that changes a job's state."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select
from sqlalchemy import update as update_statement

from ipulse_core import strict_json
from ipulse_core.errors import Conflict, NotFound
from ipulse_core.events import Level
from ipulse_core.states import ACTIVE, JobState, Reason, check_transition
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import events
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.queue.needs import Needs
from ipulse_service.jobs.scheduling_options import SchedulingOptions

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

RETRY_TOPIC = "retry"  # notified when a job starts to wait for another attempt

# The name under which the time in each state is shown.
PHASE_OF_STATE = {
    JobState.QUEUED: "queue",
    JobState.PREPARING: "prepare",
    JobState.COMPILING: "compile",
    JobState.ACQUIRING: "acquire",
    JobState.RUNNING: "run",
    JobState.REPORTING: "report",
    JobState.CANCELLING: "cancel",
    JobState.PAUSING: "pause",
    JobState.PAUSED: "paused",
    JobState.RETRY_WAIT: "retry_wait",
}

# Levels of the log lines about what made a job enter these states.
_LEVELS: dict[JobState, Level] = {JobState.FAILED: "error", JobState.RETRY_WAIT: "warning"}

_ID = re.compile(r"job_[0-9a-f]{24}")

# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_ADD = insert(jobs).returning(*COLUMNS)
_CHANGE_ALL = update_statement(jobs).where(
    jobs.c.pk == bindparam("was_pk"), jobs.c.version == bindparam("was_version")
)
_CHANGE = _CHANGE_ALL.returning(*COLUMNS)
# Columns that a transition changes, in addition to state and reason.
_MOVED = ("message", "phase_ms", "state_since", "finished_at", "deadline_at", "due_at")
_BY_ID = select(*COLUMNS).where(jobs.c.id == bindparam("job_id"))
_BY_PK = select(*COLUMNS).where(jobs.c.pk == bindparam("job_pk"))
# A job's row is the lock of its attempts, events and artifacts. The lock leaves the key free for
# rows that only refer to it, such as a wake-up promised by the claim of another job: two claims
# that each lock the job that the other refers to would deadlock.
_HOLD_BY_ID = _BY_ID.with_for_update(key_share=True)
_HOLD_BY_PK = _BY_PK.with_for_update(key_share=True)


def stop_topic(job_id: str) -> str:
    """Returns the topic that is notified when a job stops or is to stop.

    The job's id alone is the topic of every change. A waiter may be woken without a change.
    """
    return f"{job_id}/stop"


def add(
    transaction: Transaction,
    spec: ExperimentSpec,
    text: str,
    sha256: str,
    options: SchedulingOptions,
) -> JobRow:
    """Adds a queued job. `text` is the spec's canonical JSON and `sha256` its digest."""
    now = transaction.now
    needs = Needs.of_spec(spec)
    values = {
        "id": f"job_{secrets.token_hex(12)}",
        "name": spec.name,
        "state": JobState.QUEUED.value,
        **needs._asdict(),
        "spec": text,
        "spec_sha256": sha256,
        "metadata": strict_json.dumps(spec.metadata),
        "phase_ms": "{}",
        "created_at": now,
        "updated_at": now,
        "state_since": now,
        "queued_at": now,
        "last_seq": 1,
        **asdict(options),
        "deadline_at": options.deadline(JobState.QUEUED, now, now, started=False, run_ms=0),
    }
    job = JobRow.of(transaction.connection.execute(_ADD, values).one())
    events.append(transaction, job.pk, 0, None, [_state_event(JobState.QUEUED, None, "")])
    return job


def get(transaction: Transaction, job_id: str) -> JobRow:
    """Returns the job; a writing transaction locks it until it ends. Raises NotFound."""
    row = None
    if _ID.fullmatch(job_id):
        query = _HOLD_BY_ID if transaction.is_writing else _BY_ID
        row = transaction.connection.execute(query, {"job_id": job_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such job")
    return JobRow.of(row)


def peek(transaction: Transaction, job_id: str) -> JobRow:
    """Returns the job without a lock, so that it may change at once. Raises NotFound."""
    row = transaction.connection.execute(_BY_ID, {"job_id": job_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such job")
    return JobRow.of(row)


def get_by_pk(transaction: Transaction, pk: int) -> JobRow:
    """Returns the job; a writing transaction locks it until it ends."""
    query = _HOLD_BY_PK if transaction.is_writing else _BY_PK
    return JobRow.of(transaction.connection.execute(query, {"job_pk": pk}).one())


def find_by_pk(transaction: Transaction, pk: int) -> JobRow | None:
    """Returns the job like `get_by_pk`, or None if it was deleted."""
    query = _HOLD_BY_PK if transaction.is_writing else _BY_PK
    row = transaction.connection.execute(query, {"job_pk": pk}).one_or_none()
    return None if row is None else JobRow.of(row)


def lock_or_skip(transaction: Transaction, pk: int) -> JobRow | None:
    """Returns the job, locked, or None while another transaction has locked it."""
    this = select(*COLUMNS).where(jobs.c.pk == pk)
    query = this.with_for_update(skip_locked=True, key_share=True)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else JobRow.of(row)


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
    return update(transaction, job, moved._replace(last_seq=last_seq))


def move_all(
    transaction: Transaction,
    moves: Sequence[tuple[JobRow, JobState]],
    reason: Reason,
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
                "reason": reason.value,
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
        transaction.connection.execute(_CHANGE_ALL, changes)


def transition(
    transaction: Transaction,
    job: JobRow,
    after: JobState,
    reason: Reason | None = None,
    message: str = "",
    spent_ms: int | None = None,
) -> tuple[JobRow, events.NewEvent]:
    """Returns the job in another state, and the event of that, without storing them.

    `spent_ms` is the time in the state that it leaves; by default, by the database's clock.

    The caller stores both with `update` and `events.append`. Raises IllegalTransition.
    """
    check_transition(job.state, after)
    phase_ms: dict[str, int] = json.loads(job.phase_ms)
    phase = PHASE_OF_STATE[job.state]
    if spent_ms is None:
        spent_ms = max(0, transaction.now - job.state_since)
    phase_ms[phase] = phase_ms.get(phase, 0) + spent_ms
    if after not in ACTIVE:
        transaction.topics.add(stop_topic(job.id))
    if after is JobState.RETRY_WAIT:
        transaction.topics.add(RETRY_TOPIC)
    options = SchedulingOptions(job.priority, job.queue_seconds, job.run_seconds, job.total_seconds)
    deadline_at = options.deadline(
        after,
        job.created_at,
        transaction.now,
        started=job.attempt > 0,
        run_ms=sum(phase_ms.get(PHASE_OF_STATE[state], 0) for state in ACTIVE),
    )
    moved = job._replace(
        deadline_at=deadline_at,
        state=after,
        reason=reason,
        message=message,
        phase_ms=strict_json.dumps(phase_ms),
        state_since=transaction.now,
        finished_at=transaction.now if after.is_terminal else job.finished_at,
    )
    return moved, _state_event(after, reason, message)


def update(transaction: Transaction, was: JobRow, job: JobRow) -> JobRow:
    """Writes the changed columns of a job's row and increments its version.

    Raises Conflict when the row changed since `was` was read.
    """
    columns = {
        name: value
        for name, value, former in zip(JobRow._fields, job, was, strict=True)
        if value != former
    }
    if "state" in columns:
        columns["state"] = job.state.value
    if "reason" in columns:
        columns["reason"] = job.reason and job.reason.value
    known = {"was_pk": was.pk, "was_version": was.version}
    values = {"version": was.version + 1, "updated_at": transaction.now, **columns}
    row = transaction.connection.execute(_CHANGE, {**known, **values}).one_or_none()
    if row is None:
        raise Conflict("the job changed at the same moment; try again")
    transaction.topics.add(was.id)
    return JobRow.of(row)


def _log_of_error(after: JobState, reason: Reason | None, message: str) -> list[events.NewEvent]:
    """Returns the log events of a failure or a lost attempt, so that the log alone explains it."""
    level = _LEVELS.get(after)
    if level is None or reason is None:
        return []
    lines = (f"{reason.value}: {message}" if message else reason.value).splitlines()
    return events.log_events(lines, level, "service")


def _state_event(state: JobState, reason: Reason | None, message: str) -> events.NewEvent:
    body = {"state": state.value, "reason": reason.value if reason else None, "message": message}
    return events.NewEvent("state", strict_json.dumps(body))
