"""From a posted spec to a queued job: row, idempotency key and promised wake-up, or nothing."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select

from ipulse import strict_json
from ipulse.errors import InvalidInput, Problem
from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json

from . import outbox, store
from .database import Database, Transaction
from .store import Job
from .tables import idempotency_keys

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class KeyReused(InvalidInput):
    """This Idempotency-Key was used before, with another spec."""

    code = "idempotency_key_reused"


@dataclass(frozen=True)
class CheckedSpec:
    """A valid spec, its canonical JSON text and that text's SHA-256."""

    spec: ExperimentSpec
    text: str
    sha256: str


@dataclass(frozen=True)
class Submitted:
    """The job of a submission, and whether an earlier one with the same key had made it."""

    job: Job
    replayed: bool


def check(value: Any) -> CheckedSpec:
    """Raises InvalidSpec with every problem of a posted spec."""
    spec = parse_spec(value)
    text = strict_json.dumps(spec_to_json(spec))
    return CheckedSpec(spec, text, hashlib.sha256(text.encode()).hexdigest())


def check_key(key: str) -> str:
    """Raises InvalidInput unless a text may be an idempotency key."""
    if not _KEY.fullmatch(key):
        detail = "must have 1 to 255 printable ASCII characters without spaces"
        raise InvalidInput([Problem("/header/idempotency-key", "wrong_form", detail)])
    return key


def submit(database: Database, checked: CheckedSpec, caller: str, key: str | None) -> Submitted:
    """Stores a job once; the same key from the same caller finds it again.

    Raises KeyReused when that key came with another spec.
    """
    with database.write() as transaction:
        if key is not None:
            transaction.lock(f"idempotency/{caller}/{key}")
            former = _find(transaction, checked, caller, key)
            if former is not None:
                return Submitted(former, replayed=True)
        job = store.add(transaction, checked.spec, checked.text, checked.sha256)
        outbox.add(transaction, job)
        if key is not None:
            row = {
                "caller": caller,
                "key": key,
                "fingerprint": checked.sha256,
                "job_pk": job.pk,
                "created_at": transaction.now,
            }
            transaction.connection.execute(insert(idempotency_keys).values(row))
    return Submitted(job, replayed=False)


def _find(transaction: Transaction, checked: CheckedSpec, caller: str, key: str) -> Job | None:
    keys = idempotency_keys.c
    query = select(keys.fingerprint, keys.job_pk).where(keys.caller == caller, keys.key == key)
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        return None
    if row.fingerprint != checked.sha256:
        detail = "use a new key for a new spec"
        raise KeyReused([Problem("/header/idempotency-key", "key_reused", detail)])
    return store.get_by_pk(transaction, row.job_pk)
