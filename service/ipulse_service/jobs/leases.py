"""Attempts, leases and fencing tokens; all times are those of the steady clock."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, bindparam, case, func, insert, or_, select, update

from ipulse_core import ids
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import NotFound, NotPermitted, StaleToken
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents, attempts, jobs
from ipulse_service.jobs.job import JobRow

TAKEOVER_MS = 12_000  # for so long, a lease is left to the replica that its agent talks to


class AttemptRow(NamedTuple):
    """The row of an attempt. Times are milliseconds since 1970."""

    pk: int
    id: str
    job_pk: int
    number: int
    agent: str
    lease_expires_at: int
    next_event: int  # the attempt-local sequence number expected next
    started_at: int
    finished_at: int | None
    reason: str | None
    message: str
    summary: str | None
    protocol: int  # that its agent uses; 0: unknown
    preempted_for: str | None  # id of the job for which it is to stop


COLUMNS = tuple(attempts.c[name] for name in AttemptRow._fields)

# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_ADD = insert(attempts).returning(*COLUMNS)
_BY_ID = select(attempts.c.fence_sha256, *COLUMNS).where(attempts.c.id == bindparam("attempt_id"))
_HOLD_JOB = (
    select(jobs.c.pk)
    .where(
        jobs.c.pk
        == select(attempts.c.job_pk)
        .where(attempts.c.id == bindparam("attempt_id"))
        .scalar_subquery()
    )
    .with_for_update(key_share=True)
)
# Separate from _OF_JOBS: its list of keys makes SQLAlchemy render the statement each time.
_OF_JOB = (
    select(*COLUMNS).where(attempts.c.job_pk == bindparam("of_job")).order_by(attempts.c.number)
)
_OF_JOBS = (
    select(*COLUMNS)
    .where(attempts.c.job_pk.in_(bindparam("job_pks", expanding=True)))
    .order_by(attempts.c.number)
)
_BY_FENCE = select(*COLUMNS).where(
    attempts.c.fence_sha256 == bindparam("fence_sha256"), attempts.c.agent == bindparam("agent")
)
_WRITE = update(attempts).where(
    attempts.c.pk == bindparam("held_pk"), attempts.c.finished_at.is_(None)
)
_CHANGE_ENDED = update(attempts).where(attempts.c.pk == bindparam("lost_pk")).returning(*COLUMNS)


def start(
    transaction: Transaction,
    job: JobRow,
    agent: str,
    lease_seconds: float,
    protocol: int = 0,
    fence: str = "",
) -> tuple[AttemptRow, str]:
    """Adds the next attempt at a job. Returns it with its fencing token, which is not stored.

    The token is the one that the agent has chosen, or else a new one.
    """
    fence = fence or secrets.token_urlsafe(32)
    values = {
        "id": ids.new_id(ids.ATTEMPT),
        "job_pk": job.pk,
        "number": job.attempt + 1,
        "agent": agent,
        "fence_sha256": _digest(fence),
        "lease_expires_at": transaction.now + round(lease_seconds * 1000),
        "started_at": transaction.now,
        "protocol": protocol,
        "replica": transaction.replica,
    }
    return AttemptRow._make(transaction.connection.execute(_ADD, values).one()), fence


def of_claim(transaction: Transaction, agent: str, fence: str) -> AttemptRow | None:
    """Returns the attempt that a former request with the same claim has started, if any.

    No other claim of this agent is answered until the transaction ends.
    """
    transaction.lock(f"claim/{agent}")
    values = {"agent": agent, "fence_sha256": _digest(fence)}
    row = transaction.connection.execute(_BY_FENCE, values).one_or_none()
    return None if row is None else AttemptRow._make(row)


def is_held_by(transaction: Transaction, job_pk: int, agent: str | None) -> bool:
    """Returns whether an agent holds a job now."""
    query = select(attempts.c.pk).where(
        attempts.c.job_pk == job_pk,
        attempts.c.finished_at.is_(None),
        attempts.c.agent == agent,
    )
    return transaction.connection.execute(query).first() is not None


def check_fence(
    transaction: Transaction, attempt_id: str, fence: str, releases: bool = False
) -> AttemptRow:
    """Returns the attempt, which may have ended, if this is its token.

    With `releases` a local agent may hold the token of another one, which has died.

    Raises StaleToken, and NotPermitted for the attempt of another agent.
    """
    row = None
    if ids.is_id(ids.ATTEMPT, attempt_id):
        _hold_job(transaction, attempt_id)
        row = transaction.connection.execute(_BY_ID, {"attempt_id": attempt_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such attempt")
    fence_sha256, *columns = row
    if not hmac.compare_digest(fence_sha256, _digest(fence)):
        raise StaleToken("this is not the token of that attempt")
    attempt = AttemptRow(*columns)
    _check_agent(transaction, attempt, releases)
    return attempt


def _check_agent(transaction: Transaction, attempt: AttemptRow, releases: bool) -> None:
    access = transaction.access
    if access.agent in (None, attempt.agent):
        return
    if releases and access.is_local:
        query = select(agents.c.joined_at).where(agents.c.name == attempt.agent)
        if transaction.connection.execute(query).scalar_one_or_none() is None:
            return
    raise NotPermitted(f"this token belongs to the agent {access.agent}")


def renew(transaction: Transaction, attempt: AttemptRow, lease_seconds: float) -> None:
    """Renews a lease from now on. Raises StaleToken if the attempt has ended."""
    write(
        transaction,
        attempt,
        lease_expires_at=transaction.now + round(lease_seconds * 1000),
        replica=transaction.replica,
    )


def write(transaction: Transaction, attempt: AttemptRow, **columns: Any) -> None:
    """Updates columns of an attempt. Raises StaleToken if it has ended."""
    if transaction.connection.execute(_WRITE, {"held_pk": attempt.pk, **columns}).rowcount != 1:
        raise StaleToken()


def reopen(transaction: Transaction, attempt: AttemptRow, lease_seconds: float) -> AttemptRow:
    """Makes an attempt that has ended hold its job again, with a new lease."""
    values = {
        "lost_pk": attempt.pk,
        "finished_at": None,
        "reason": None,
        "message": "",
        "summary": None,
        "lease_expires_at": transaction.now + round(lease_seconds * 1000),
        "replica": transaction.replica,
    }
    return AttemptRow._make(transaction.connection.execute(_CHANGE_ENDED, values).one())


def correct(transaction: Transaction, attempt: AttemptRow, outcome: AttemptOutcome) -> None:
    """Replaces the reason and the message of an attempt that has ended."""
    values = {"lost_pk": attempt.pk, "reason": outcome.reason.value, "message": outcome.message}
    transaction.connection.execute(_CHANGE_ENDED, values)


def of_job(transaction: Transaction, job_pk: int) -> list[AttemptRow]:
    """Returns the attempts of a job in order."""
    rows = transaction.connection.execute(_OF_JOB, {"of_job": job_pk})
    return [AttemptRow._make(row) for row in rows]


def of_jobs(transaction: Transaction, job_pks: Collection[int]) -> dict[int, list[AttemptRow]]:
    """Returns the attempts of jobs by the job's key, each list in order."""
    found: dict[int, list[AttemptRow]] = {pk: [] for pk in job_pks}
    for row in transaction.connection.execute(_OF_JOBS, {"job_pks": list(job_pks)}):
        attempt = AttemptRow._make(row)
        found[attempt.job_pk].append(attempt)
    return found


def held(transaction: Transaction) -> list[AttemptRow]:
    """Returns the attempts that hold a job."""
    query = select(*COLUMNS).where(attempts.c.finished_at.is_(None))
    return [AttemptRow._make(row) for row in transaction.connection.execute(query)]


def expired(transaction: Transaction, by: int | None = None) -> list[AttemptRow]:
    """Returns the attempts that hold a job with a lease that expired until now, or by a time.

    The leases of agents that talk to another replica are left to that one for a while. A writing
    transaction locks the jobs, and skips jobs that another replica has locked.
    """
    by = transaction.now if by is None else by
    has_run_out = (
        attempts.c.finished_at.is_(None),
        attempts.c.lease_expires_at <= by,
        or_(_is_own(transaction), attempts.c.lease_expires_at <= by - TAKEOVER_MS),
    )
    query = select(*COLUMNS).where(*has_run_out).order_by(attempts.c.lease_expires_at)
    if transaction.is_writing:
        holding = (
            select(jobs.c.pk)
            .join(attempts, attempts.c.job_pk == jobs.c.pk)
            .where(*has_run_out)
            .with_for_update(of=jobs, skip_locked=True, key_share=True)
        )
        held = transaction.connection.execute(holding).scalars().all()
        # Read again under the lock: a heartbeat may have renewed a lease.
        query = query.where(attempts.c.job_pk.in_(held))
    return [AttemptRow._make(row) for row in transaction.connection.execute(query)]


def next_expiry(transaction: Transaction) -> int | None:
    """Returns when `expired` will find the next lease."""
    expires_at = attempts.c.lease_expires_at
    until = case((_is_own(transaction), expires_at), else_=expires_at + TAKEOVER_MS)
    query = select(func.min(until)).where(attempts.c.finished_at.is_(None))
    return cast(int | None, transaction.connection.execute(query).scalar_one())


def _is_own(transaction: Transaction) -> ColumnElement[bool]:
    """The agent talks to this replica."""
    return attempts.c.replica == transaction.replica


def _hold_job(transaction: Transaction, attempt_id: str) -> None:
    """Locks the job of an attempt, so that no other transaction changes the attempt."""
    if transaction.is_writing:
        transaction.connection.execute(_HOLD_JOB, {"attempt_id": attempt_id})


def _digest(fence: str) -> str:
    return hashlib.sha256(fence.encode()).hexdigest()
