"""Which files an attempt has left, and what each is for."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select

from ipulse_core.errors import Conflict, IPUlseError, NotFound, Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import artifacts, attempts
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.jobs.job import Job
from ipulse_service.jobs.leases import AttemptRow

Store = Blobs | S3Blobs

ORPHAN_SECONDS = 3600  # a file without a row may be on its way into one

_ID = re.compile(r"art_[0-9a-f]{24}")

# Made once: what SQLAlchemy does to make a statement costs more than the database takes for it.
_ADD = insert(artifacts)
_SELECTION = select(artifacts, attempts.c.number.label("attempt")).join(
    attempts, attempts.c.pk == artifacts.c.attempt_pk
)
_OF_ATTEMPT = _SELECTION.where(artifacts.c.attempt_pk == bindparam("of_attempt"))
_LATEST_CHECKPOINT = (
    _SELECTION.where(artifacts.c.job_pk == bindparam("of_job"), artifacts.c.role == "checkpoint")
    .order_by(artifacts.c.pk.desc())
    .limit(1)
)


class ArtifactExists(Conflict):
    """This attempt has another file of that name already; only checkpoints are replaced."""

    code = "artifact_exists"


@dataclass(frozen=True)
class Artifact:
    """A stored file as its row has it. Times are milliseconds since 1970."""

    id: str
    name: str
    role: str
    media_type: str
    size: int  # bytes
    sha256: str
    attempt: int  # number of the attempt that left it
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> Artifact:
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class NewArtifact:
    """What an attempt says of a file it sends."""

    name: str
    role: str
    media_type: str


@dataclass(frozen=True)
class StoreResult:
    """The artifact, whether it is new, and the digests that its row took the place of."""

    artifact: Artifact
    created: bool
    replaced: list[str]


def keep(
    database: Database,
    blobs: Store,
    described: NewArtifact,
    incoming: PartialUpload,
    holder: Callable[[Transaction], AttemptRow],
) -> StoreResult:
    """Keeps a synced file as an artifact of the attempt that `holder` finds to hold its job.

    Raises what `holder` and `add` raise, and Unavailable.
    """
    with keeping(database, blobs, incoming) as transaction:
        return add(transaction, holder(transaction), described, incoming)


@contextmanager
def keeping(database: Database, blobs: Store, incoming: PartialUpload) -> Iterator[Transaction]:
    """Keeps a synced file if the transaction is kept that adds its row.

    The file goes first, and the transaction waits for no store, however slow it is. Raises
    Unavailable.
    """
    with database.exclusively(_blob(incoming.sha256)):
        blobs.keep(incoming)
        try:
            with database.write() as transaction:
                yield transaction
        except IPUlseError:
            with suppress(Unavailable):  # then it is cleaned up as an orphan
                _discard_unless_used(database, blobs, incoming.sha256)
            raise


def add(
    transaction: Transaction, attempt: AttemptRow, described: NewArtifact, incoming: PartialUpload
) -> StoreResult:
    """The row of a kept file. The same file twice is one artifact.

    Raises ArtifactExists when another file has the name. A checkpoint replaces the former one.
    """
    replaced = []
    for former in _of_attempt(transaction, attempt):
        same_name = former.name == described.name
        if same_name and former.role == described.role and former.sha256 == incoming.sha256:
            return StoreResult(former, created=False, replaced=[])
        if described.role == "checkpoint" == former.role:
            transaction.connection.execute(delete(artifacts).where(artifacts.c.id == former.id))
            replaced.append(former.sha256)
        elif same_name:
            raise ArtifactExists()
    artifact_id = f"art_{secrets.token_hex(12)}"
    values = {
        "id": artifact_id,
        "job_pk": attempt.job_pk,
        "attempt_pk": attempt.pk,
        "name": described.name,
        "role": described.role,
        "media_type": described.media_type,
        "size": incoming.size,
        "sha256": incoming.sha256,
        "created_at": transaction.now,
    }
    transaction.connection.execute(_ADD, values)
    stored = Artifact(
        artifact_id,
        described.name,
        described.role,
        described.media_type,
        incoming.size,
        incoming.sha256,
        attempt.number,
        transaction.now,
    )
    return StoreResult(stored, created=True, replaced=replaced)


def forget(database: Database, blobs: Store, sha256: str) -> None:
    """Removes a file that no artifact refers to any more."""
    # No new row of this digest appears between look and removal.
    with database.exclusively(_blob(sha256)):
        _discard_unless_used(database, blobs, sha256)


def collect(database: Database, blobs: Store) -> int:
    """Removes the files that no artifact refers to, as a crash leaves them; returns how many."""
    removed = 0
    for sha256 in blobs.kept(ORPHAN_SECONDS):
        with database.read() as transaction:
            is_used = _is_used(transaction, sha256)
        if not is_used:
            forget(database, blobs, sha256)
            removed += 1
    return removed


def get(transaction: Transaction, job: Job, artifact_id: str) -> Artifact:
    """An artifact of any attempt of a job. Raises NotFound."""
    row = None
    if _ID.fullmatch(artifact_id):
        query = _SELECTION.where(artifacts.c.id == artifact_id, artifacts.c.job_pk == job.pk)
        row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotFound("there is no such artifact of that job")
    return Artifact.of(row)


def official(transaction: Transaction, job: Job) -> list[Artifact]:
    """What the latest attempt has left so far; an earlier one's files are not the job's."""
    query = _SELECTION.where(
        artifacts.c.job_pk == job.pk, attempts.c.number == job.attempt
    ).order_by(artifacts.c.pk)
    return [Artifact.of(row) for row in transaction.connection.execute(query)]


def is_complete(transaction: Transaction, attempt: AttemptRow) -> bool:
    """Whether the manifest, which is always written last, is there."""
    return any(artifact.role == "manifest" for artifact in _of_attempt(transaction, attempt))


def latest_checkpoint(transaction: Transaction, job: Job) -> Artifact | None:
    """Where the next attempt may resume from."""
    row = transaction.connection.execute(_LATEST_CHECKPOINT, {"of_job": job.pk}).one_or_none()
    return None if row is None else Artifact.of(row)


def _blob(sha256: str) -> str:
    return f"blob/{sha256}"


def _discard_unless_used(database: Database, blobs: Store, sha256: str) -> None:
    with database.read() as transaction:
        is_used = _is_used(transaction, sha256)
    if not is_used:
        blobs.discard(sha256)


def _is_used(transaction: Transaction, sha256: str) -> bool:
    query = select(artifacts.c.pk).where(artifacts.c.sha256 == sha256).limit(1)
    return transaction.connection.execute(query).one_or_none() is not None


def _of_attempt(transaction: Transaction, attempt: AttemptRow) -> list[Artifact]:
    rows = transaction.connection.execute(_OF_ATTEMPT, {"of_attempt": attempt.pk})
    return [Artifact.of(row) for row in rows]
