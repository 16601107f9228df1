"""Submission of a job: one transaction stores its row, idempotency key and wake-up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from ipulse.spec import AnySpec, spec_to_json
from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_service.background import outbox
from ipulse_service.datasets import references
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import idempotency_keys
from ipulse_service.jobs import dependencies, store, transitions
from ipulse_service.jobs.dependencies import Dependency
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.queue import admission
from ipulse_service.jobs.queue.needs import Needs
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.search import settings_index
from ipulse_service.jobs.start import starting
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.jobs.start.starting import StartRequest

WAIT_SECONDS = 1.0  # for another request with the same key
KEY_MS = 24 * 3_600_000  # a key returns its job for a day

_THIS = (
    idempotency_keys.c.caller == bindparam("of_caller"),
    idempotency_keys.c.key == bindparam("this_key"),
)
# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
_INSERT_KEY = insert(idempotency_keys)
_SELECT_KEY = select(idempotency_keys).where(*_THIS)
_DEFAULT_OPTIONS = SchedulingOptions()
_NO_ATTRIBUTES = JobAttributes()


class KeyInUse(Conflict):
    """A request with this Idempotency-Key is under way; ask again for its job."""

    code = "idempotency_key_in_use"


class KeyReused(InvalidInput):
    """This Idempotency-Key was used before, with another spec."""

    code = "idempotency_key_reused"


@dataclass(frozen=True)
class ResolvedSpec:
    """A spec with all defaults: the model, its JSON, the canonical text, and the text's SHA-256."""

    spec: AnySpec
    value: dict[str, Any]
    text: str
    sha256: str


@dataclass(frozen=True)
class Submitted:
    """The job of a submission, and whether an earlier request with the same key created it."""

    job: JobRow
    replayed: bool


def resolve(spec: AnySpec) -> ResolvedSpec:
    """Returns the spec with all defaults filled in."""
    value = spec_to_json(spec)
    text = strict_json.dumps(value)
    return ResolvedSpec(spec, value, text, hashlib.sha256(text.encode()).hexdigest())


def with_data(transaction: Transaction, resolved: ResolvedSpec) -> ResolvedSpec:
    """Returns the spec with the digest of its uploaded data in place of their name.

    Raises what `references.resolve` raises.
    """
    spec = references.resolve(transaction, resolved.spec)
    return resolved if spec is resolved.spec else resolve(spec)


def submit(
    database: Database,
    resolved: ResolvedSpec,
    caller: str,
    key: str | None,
    options: SchedulingOptions = _DEFAULT_OPTIONS,
    attributes: JobAttributes = _NO_ATTRIBUTES,
    start: StartRequest | None = None,
    after: Sequence[Dependency] = (),
) -> Submitted:
    """Stores a job once. The same key from the same caller returns the same job for a day.

    Raises KeyInUse while another request with that key is under way, KeyReused if the key was
    used with another spec, options, attributes or start, and what `starting.resolve` and
    `admission.check` raise.
    """
    if key is None:
        return _submit(database, resolved, caller, None, options, attributes, start, after)
    with database.key_locks.acquire(_name(caller, key), WAIT_SECONDS) as is_acquired:
        if not is_acquired:
            raise KeyInUse()
        return _submit(database, resolved, caller, key, options, attributes, start, after)


def _submit(
    database: Database,
    resolved: ResolvedSpec,
    caller: str,
    key: str | None,
    options: SchedulingOptions,
    attributes: JobAttributes,
    start: StartRequest | None,
    after: Sequence[Dependency],
) -> Submitted:
    fingerprint = resolved.sha256
    for chosen, default in ((options, _DEFAULT_OPTIONS), (attributes, _NO_ATTRIBUTES)):
        if chosen != default:
            text = strict_json.dumps(asdict(chosen)) + fingerprint
            fingerprint = hashlib.sha256(text.encode()).hexdigest()
    more: list[StartRequest | Dependency] = [*([start] if start else []), *after]
    for part in more:
        text = strict_json.dumps(asdict(part)) + fingerprint
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
    with database.write() as transaction:
        if key is not None:
            transaction.lock(_name(caller, key))  # against other replicas
            former = _find(transaction, fingerprint, caller, key)
            if former is not None:
                return Submitted(former, replayed=True)
        file = None
        if start is not None:
            whole = with_data(transaction, resolved)
            file = starting.resolve(transaction, start, whole.spec, whole.value)
        job = store_job(transaction, resolved, options, attributes, file, after)
        if key is not None:
            row = {
                "caller": caller,
                "key": key,
                "fingerprint": fingerprint,
                "job_pk": job.pk,
                "created_at": transaction.now,
            }
            transaction.connection.execute(_INSERT_KEY, row)
    return Submitted(job, replayed=False)


def check_admission(transaction: Transaction, resolved: ResolvedSpec) -> ResolvedSpec:
    """Returns the spec with the digest of its data. Raises what `admission.check` raises, too."""
    resolved = with_data(transaction, resolved)
    admission.check(transaction, Needs.of_spec(resolved.spec))
    return resolved


def store_job(
    transaction: Transaction,
    resolved: ResolvedSpec,
    options: SchedulingOptions = _DEFAULT_OPTIONS,
    attributes: JobAttributes = _NO_ATTRIBUTES,
    start: StartFile | None = None,
    after: Sequence[Dependency] = (),
) -> JobRow:
    """Stores a queued job and its wake-up, or a blocked one, in this transaction.

    Raises what `with_data`, `starting.uploaded`, `admission.check` and `dependencies.unmet` raise.
    """
    resolved = with_data(transaction, resolved)
    references.pin(transaction, resolved.spec)
    if start is None:
        start = starting.uploaded(transaction, resolved.spec)
    admission.check(transaction, Needs.of_spec(resolved.spec))
    waiting = dependencies.unmet(transaction, after) if after else []
    job = transitions.add(
        transaction,
        resolved.spec,
        resolved.text,
        resolved.sha256,
        options,
        attributes,
        start,
        is_blocked=bool(waiting),
    )
    settings_index.add(transaction, job.pk, resolved.value)
    if waiting:
        dependencies.add(transaction, job, waiting)
    else:
        outbox.add(transaction, job)
    return job


def _name(caller: str, key: str) -> str:
    return f"idempotency/{caller}/{key}"


def forget_keys(transaction: Transaction) -> int:
    """Deletes expired keys and returns how many."""
    old = idempotency_keys.c.created_at <= transaction.now - KEY_MS
    return transaction.connection.execute(delete(idempotency_keys).where(old)).rowcount


def _find(transaction: Transaction, fingerprint: str, caller: str, key: str) -> JobRow | None:
    this = {"of_caller": caller, "this_key": key}
    row = transaction.connection.execute(_SELECT_KEY, this).one_or_none()
    if row is None:
        return None
    if row.created_at <= transaction.now - KEY_MS:
        transaction.connection.execute(delete(idempotency_keys).where(*_THIS), this)
        return None
    if row.fingerprint != fingerprint:
        detail = "use a new key for a new spec, or other limits"
        raise KeyReused([Problem("/header/idempotency-key", "key_reused", detail)])
    return store.get_by_pk(transaction, row.job_pk)
