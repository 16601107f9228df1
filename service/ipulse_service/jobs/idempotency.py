"""Idempotency keys: a repeated submission returns the jobs of the first for a day.

A fingerprint says whether two requests want the same. Its rule is stored with it: fingerprints of
other rules, of an older or a newer version, are not compared.

The first job of a request has the key itself, and each further job a row of its own with a key
that is made from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from sqlalchemy import Delete, bindparam, delete, insert, or_, select

from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, NotFound, Problem
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import idempotency_keys
from ipulse_service.jobs import store as jobs_store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_view import JobView

WAIT_SECONDS = 1.0  # for another request with the same key
KEY_MS = 24 * 3_600_000  # a key returns its jobs for a day
# The rule of `fingerprint_of`, to be counted up with each change of it. 0 is unknown: fingerprints
# of earlier versions had their defaults.
FINGERPRINT_RULE = 1

# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_INSERT = insert(idempotency_keys)
_OF_KEY = (
    idempotency_keys.c.caller == bindparam("of_caller"),
    or_(
        idempotency_keys.c.key == bindparam("this_key"),
        idempotency_keys.c.key.between(bindparam("first_key"), bindparam("last_key")),
    ),
)
_SELECT = select(idempotency_keys).where(*_OF_KEY).order_by(idempotency_keys.c.job_pk)
_DELETE: Delete = delete(idempotency_keys).where(*_OF_KEY)


class Replay(Enum):
    """The first request with an Idempotency-Key, or a repetition."""

    FIRST = "first"
    SAME = "same"
    NOT_COMPARED = "not_compared"  # the fingerprint of the first has another rule


class KeyInUse(Conflict):
    """A request with this Idempotency-Key is under way; ask again for its job."""

    code = "idempotency_key_in_use"


class KeyReused(InvalidInput):
    """This Idempotency-Key was used before, with another spec."""

    code = "idempotency_key_reused"


class JobsDeleted(Conflict):
    """Some jobs of the first request with this Idempotency-Key were deleted; use a new key."""

    code = "jobs_deleted"


def once(
    database: Database,
    caller: str,
    key: str | None,
    wanted: Sequence[Any],
    store: Callable[[Transaction], list[JobView]],
) -> tuple[list[JobView], Replay]:
    """Stores the jobs of a request; returns them, and whether the key was used before.

    wanted: what each job differs by from one with defaults, as JSON; without a key it is not used.

    Raises KeyInUse while another request with that key is under way, and what `find` raises.
    """
    if key is None:
        with database.write() as transaction:
            return store(transaction), Replay.FIRST
    digest = fingerprint_of(wanted)
    name = f"idempotency/{caller}/{key}"
    with database.key_locks.acquire(name, WAIT_SECONDS) as is_acquired:
        if not is_acquired:
            raise KeyInUse()
        with database.write() as transaction:
            transaction.lock(name)  # against other replicas
            former, replay = find(transaction, digest, len(wanted), caller, key)
            if former:
                return former, replay
            jobs = store(transaction)
            add(transaction, digest, caller, key, [view.job for view in jobs])
            return jobs, Replay.FIRST


def fingerprint_of(wanted: Any) -> str:
    """Returns the digest of a request as JSON without defaults."""
    return hashlib.sha256(strict_json.dumps(wanted).encode()).hexdigest()


def find(
    transaction: Transaction, fingerprint: str, count: int, caller: str, key: str
) -> tuple[list[JobView], Replay]:
    """Returns the jobs of the first request with a key, in its order; without one, none.

    Raises KeyReused if that request was for other jobs, JobsDeleted, and NotFound for jobs that the
    caller may not read any more.
    """
    this = {"of_caller": caller, "this_key": key}
    this |= {"first_key": _further(key, 0), "last_key": _further(key, 10**5 - 1)}
    rows = transaction.connection.execute(_SELECT, this).all()
    if not rows:
        return [], Replay.FIRST
    if rows[0].created_at <= transaction.now - KEY_MS:
        transaction.connection.execute(_DELETE, this)
        return [], Replay.FIRST
    replay = compare(rows[0], fingerprint, "use a new key for a new spec, or other limits")
    if len(rows) != count:
        raise JobsDeleted()
    jobs = [jobs_store.get_by_pk(transaction, row.job_pk) for row in rows]
    if not all(transaction.access.sees(job.project) for job in jobs):
        raise NotFound("there is no such job")
    return [JobView.read(transaction, job) for job in jobs], replay


def compare(stored: Any, fingerprint: str, hint: str) -> Replay:
    """Returns whether a stored request, a row with its fingerprint, was the same as another.

    Raises KeyReused with the hint if it was not.
    """
    if stored.fingerprint_rule != FINGERPRINT_RULE:
        return Replay.NOT_COMPARED
    if stored.fingerprint != fingerprint:
        raise KeyReused([Problem("/header/idempotency-key", "key_reused", hint)])
    return Replay.SAME


def add(
    transaction: Transaction, fingerprint: str, caller: str, key: str, jobs: Sequence[JobRow]
) -> None:
    """Stores the key of a request and its jobs."""
    rows = [
        {
            "caller": caller,
            "key": _further(key, index) if index else key,
            "fingerprint": fingerprint,
            "fingerprint_rule": FINGERPRINT_RULE,
            "job_pk": job.pk,
            "created_at": transaction.now,
        }
        for index, job in enumerate(jobs)
    ]
    transaction.connection.execute(_INSERT, rows)


def forget(transaction: Transaction) -> int:
    """Deletes expired keys and returns how many."""
    old = idempotency_keys.c.created_at <= transaction.now - KEY_MS
    return transaction.connection.execute(delete(idempotency_keys).where(old)).rowcount


def _further(key: str, index: int) -> str:
    """Returns the key of a further job; a space is in no key of a client."""
    return f"{hashlib.sha256(key.encode()).hexdigest()} {index:05}"
