"""Job rows: get, lock and update."""

from __future__ import annotations

from sqlalchemy import bindparam, select
from sqlalchemy import update as update_statement

from ipulse_core import ids
from ipulse_core.errors import Conflict, NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.job import COLUMNS, JobRow

# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
CHANGE = update_statement(jobs).where(
    jobs.c.pk == bindparam("was_pk"), jobs.c.version == bindparam("was_version")
)
_CHANGE_ONE = CHANGE.returning(*COLUMNS)
_BY_ID = select(*COLUMNS).where(jobs.c.id == bindparam("job_id"))
_BY_PK = select(*COLUMNS).where(jobs.c.pk == bindparam("job_pk"))
_SPEC = select(jobs.c.spec).where(jobs.c.pk == bindparam("job_pk"))
# A job's row is the lock of its attempts, events and artifacts. The lock leaves the key free for
# rows that only refer to it, such as a wake-up promised by the claim of another job: two claims
# that each lock the job that the other refers to would deadlock.
_HOLD_BY_ID = _BY_ID.with_for_update(key_share=True)
_HOLD_BY_PK = _BY_PK.with_for_update(key_share=True)
_LOCK_OR_SKIP = _BY_PK.with_for_update(skip_locked=True, key_share=True)


def stop_topic(job_id: str) -> str:
    """Returns the topic that is notified when a job stops or is to stop.

    The job's id alone is the topic of every change. A waiter may be woken without a change.
    """
    return f"{job_id}/stop"


def is_stop_topic(topic: str) -> bool:
    """Returns whether a topic is that of a job which stops."""
    return topic.endswith("/stop")


def get(transaction: Transaction, job_id: str) -> JobRow:
    """Returns the job; a writing transaction locks it until it ends. Raises NotFound."""
    if not ids.is_id(ids.JOB, job_id):
        raise NotFound(
            f"there is no job {job_id[:60]!r}: an id is `job_` and 24 digits from 0 to f"
        )
    query = _HOLD_BY_ID if transaction.is_writing else _BY_ID
    row = transaction.connection.execute(query, {"job_id": job_id}).one_or_none()
    if row is None or not transaction.access.sees(row.project):
        raise NotFound("there is no such job")
    return JobRow.of(row)


def get_to_change(transaction: Transaction, job_id: str) -> JobRow:
    """Returns the job like `get`. Raises NotPermitted, too, if the caller may not change it."""
    job = get(transaction, job_id)
    transaction.access.check_change(job.project, job.owner)
    return job


def get_named(transaction: Transaction, job_id: str) -> JobRow:
    """Returns one of several jobs. Raises NotFound, which names it."""
    try:
        return get(transaction, job_id)
    except NotFound:
        raise NotFound(f"there is no job {job_id[:60]}") from None


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


def spec_of(transaction: Transaction, job: JobRow) -> str:
    """Returns the spec of a job as canonical JSON. Raises NotFound if the job was deleted."""
    text: str | None = transaction.connection.execute(_SPEC, {"job_pk": job.pk}).scalar()
    if text is None:
        raise NotFound("there is no such job")
    return text


def lock_or_skip(transaction: Transaction, pk: int) -> JobRow | None:
    """Returns the job, locked, or None while another transaction has locked it."""
    row = transaction.connection.execute(_LOCK_OR_SKIP, {"job_pk": pk}).one_or_none()
    return None if row is None else JobRow.of(row)


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
    row = transaction.connection.execute(_CHANGE_ONE, {**known, **values}).one_or_none()
    if row is None:
        raise Conflict("the job changed at the same moment; try again")
    transaction.topics.add(was.id)
    return JobRow.of(row)
