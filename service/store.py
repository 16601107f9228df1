"""Job rows: add, get, page, and the one function that moves a job from state to state."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Row, Select, bindparam, insert, select, update

from ipulse import strict_json
from ipulse.errors import Conflict, NotFound
from ipulse.spec import ExperimentSpec
from ipulse.states import ACTIVE, JobState, Reason, check_transition

from . import events
from .database import Transaction
from .filters import JobFilter
from .tables import jobs
from .wishes import Wishes

RETRY_TOPIC = "retry"  # told when a job begins to wait for another attempt


EXAMINED = 10_000  # specs that one page of a list may open

# The clock of each state under a name for people; an attempt's phases keep theirs.
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

_ID = re.compile(r"job_[0-9a-f]{24}")

# Made once: what SQLAlchemy does to make a statement costs more than the database takes for it.
_ADD = insert(jobs).returning(jobs)
_CHANGE = (
    update(jobs)
    .where(jobs.c.pk == bindparam("was_pk"), jobs.c.version == bindparam("was_version"))
    .returning(jobs)
)
_BY_ID = select(jobs).where(jobs.c.id == bindparam("job_id"))
_BY_PK = select(jobs).where(jobs.c.pk == bindparam("job_pk"))


@dataclass(frozen=True)
class Job:
    """A job as its row has it. Times are milliseconds since 1970."""

    pk: int
    id: str
    name: str
    state: JobState
    reason: Reason | None
    message: str
    device: str
    spec: str  # canonical JSON
    spec_sha256: str
    metadata: dict[str, str]
    attempt: int
    progress: dict[str, Any] | None
    summary: dict[str, float] | None
    phase_ms: dict[str, int]
    created_at: int
    started_at: int | None
    finished_at: int | None
    updated_at: int
    state_since: int
    queued_at: int  # its place in the queue, which a lost attempt does not cost it
    priority: int
    losses: int
    queue_seconds: int | None
    run_seconds: int | None
    total_seconds: int | None
    deadline_at: int | None
    due_at: int | None
    last_seq: int
    version: int

    @classmethod
    def of(cls, row: Row[Any]) -> Job:
        values = dict(row._mapping)
        values["state"] = JobState(row.state)
        values["reason"] = None if row.reason is None else Reason(row.reason)
        for field in ("metadata", "progress", "summary", "phase_ms"):
            text = values[field]
            values[field] = None if text is None else json.loads(text)
        return cls(**values)

    @property
    def phase_seconds(self) -> dict[str, float]:
        """Seconds in each phase that was left; the present one is counted once it ends."""
        return {phase: ms / 1000 for phase, ms in self.phase_ms.items()}


def state_topic(job_id: str) -> str:
    """Told when a job enters another state; its id alone is told of every change.

    Whoever watches a topic may be woken without cause.
    """
    return f"{job_id}/state"


def add(
    transaction: Transaction, spec: ExperimentSpec, text: str, sha256: str, wishes: Wishes
) -> Job:
    """A new job, queued. `text` is the spec's canonical JSON and `sha256` that text's digest."""
    now = transaction.now
    values = {
        "id": f"job_{secrets.token_hex(12)}",
        "name": spec.name,
        "state": JobState.QUEUED.value,
        "device": spec.device.kind,
        "spec": text,
        "spec_sha256": sha256,
        "metadata": strict_json.dumps(spec.metadata),
        "phase_ms": "{}",
        "created_at": now,
        "updated_at": now,
        "state_since": now,
        "queued_at": now,
        "last_seq": 1,
        **asdict(wishes),
        "deadline_at": wishes.deadline(JobState.QUEUED, now, now, started=False, run_ms=0),
    }
    job = Job.of(transaction.connection.execute(_ADD, values).one())
    events.append(transaction, job.pk, 0, None, [_state_event(JobState.QUEUED, None, "")])
    return job


def get(transaction: Transaction, job_id: str) -> Job:
    """The job; a writing transaction holds it until its end. Raises NotFound."""
    row = None
    if _ID.fullmatch(job_id):
        query = _held(transaction, _BY_ID)
        row = transaction.connection.execute(query, {"job_id": job_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such job")
    return Job.of(row)


def look_at(transaction: Transaction, job_id: str) -> Job:
    """The job as it is now; a moment later it may be another. Raises NotFound."""
    row = transaction.connection.execute(_BY_ID, {"job_id": job_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such job")
    return Job.of(row)


def get_by_pk(transaction: Transaction, pk: int) -> Job:
    """The job; a writing transaction holds it until its end."""
    query = _held(transaction, _BY_PK)
    return Job.of(transaction.connection.execute(query, {"job_pk": pk}).one())


def find_by_pk(transaction: Transaction, pk: int) -> Job | None:
    """As get_by_pk, for a job that may have been deleted."""
    query = _held(transaction, _BY_PK)
    row = transaction.connection.execute(query, {"job_pk": pk}).one_or_none()
    return None if row is None else Job.of(row)


def get_unless_held(transaction: Transaction, pk: int) -> Job | None:
    """The job, held, unless another writer holds it now."""
    query = select(jobs).where(jobs.c.pk == pk).with_for_update(skip_locked=True)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else Job.of(row)


def page(
    transaction: Transaction, before: int | None, limit: int, wanted: JobFilter
) -> tuple[list[Job], int | None]:
    """At most `limit` jobs that pass a filter, newest first, older than `before`; and what to
    pass as `before` for the next page, None after the last.

    No more than EXAMINED jobs are opened to look into their specs, so that a page may be short.
    """
    older = [] if before is None else [jobs.c.pk < before]
    indexed = [*older, *wanted.indexed_clauses()]
    newest_first = select(jobs).order_by(jobs.c.pk.desc())
    end = None
    if wanted.looks_inside:
        last = select(jobs.c.pk).where(*indexed).order_by(jobs.c.pk.desc())
        end = transaction.connection.execute(last.offset(EXAMINED).limit(1)).scalar_one_or_none()
        if end is not None:
            indexed.append(jobs.c.pk > end)
    inside = wanted.clauses_inside(transaction.connection.dialect.name)
    query = newest_first.where(*indexed, *inside).limit(limit + 1)
    found = [Job.of(row) for row in transaction.connection.execute(query)]
    if len(found) > limit:
        return found[:limit], found[limit - 1].pk
    return found, None if end is None else end + 1


def move(
    transaction: Transaction,
    job: Job,
    after: JobState,
    reason: Reason | None = None,
    message: str = "",
    **columns: Any,
) -> Job:
    """Moves a job to another state and writes the event down.

    Raises IllegalTransition, or Conflict when the row changed since `job` was read.
    """
    check_transition(job.state, after)
    phase_ms = dict(job.phase_ms)
    phase = PHASE_OF_STATE[job.state]
    phase_ms[phase] = phase_ms.get(phase, 0) + max(0, transaction.now - job.state_since)
    columns.setdefault("attempt", job.attempt)
    last_seq = events.append(
        transaction,
        job.pk,
        job.last_seq,
        columns["attempt"] or None,
        [_state_event(after, reason, message)],
    )
    if after.is_terminal:
        columns["finished_at"] = transaction.now
    transaction.topics.add(state_topic(job.id))
    if after is JobState.RETRY_WAIT:
        transaction.topics.add(RETRY_TOPIC)
    wishes = Wishes(job.priority, job.queue_seconds, job.run_seconds, job.total_seconds)
    deadline_at = wishes.deadline(
        after,
        job.created_at,
        transaction.now,
        started=columns["attempt"] > 0,
        run_ms=sum(phase_ms.get(PHASE_OF_STATE[state], 0) for state in ACTIVE),
    )
    return change(
        transaction,
        job,
        deadline_at=deadline_at,
        state=after.value,
        reason=None if reason is None else reason.value,
        message=message,
        phase_ms=strict_json.dumps(phase_ms),
        state_since=transaction.now,
        last_seq=last_seq,
        **columns,
    )


def change(transaction: Transaction, job: Job, **columns: Any) -> Job:
    """Writes columns of a job's row and counts its version up.

    Raises Conflict when the row changed since `job` was read.
    """
    was = {"was_pk": job.pk, "was_version": job.version}
    values = {"version": job.version + 1, "updated_at": transaction.now, **columns}
    row = transaction.connection.execute(_CHANGE, {**was, **values}).one_or_none()
    if row is None:
        raise Conflict("the job changed at the same moment; try again")
    transaction.topics.add(job.id)
    return Job.of(row)


def _held(transaction: Transaction, query: Select[Any]) -> Select[Any]:
    # A job's row is the lock of all that hangs on it: its attempts, events and artifacts.
    return query.with_for_update() if transaction.is_writing else query


def _state_event(state: JobState, reason: Reason | None, message: str) -> events.Occurrence:
    body = {"state": state.value, "reason": reason.value if reason else None, "message": message}
    return events.Occurrence("state", body)
