"""The files of an attempt: their rows, and their blobs in the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from ipulse_core import ids
from ipulse_core.errors import Conflict, NotFound
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import artifacts, attempts
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.files.stored import ArtifactRow, Store, keeping
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow

# Built once: building a statement takes SQLAlchemy longer than the database takes to run it.
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
    """The attempt has another file of this name; only checkpoints are replaced."""

    code = "artifact_exists"


@dataclass(frozen=True)
class NewArtifact:
    """The description of a file that an attempt uploads."""

    name: str
    role: str
    media_type: str


@dataclass(frozen=True)
class StoreResult:
    """The artifact, whether it is new, and the digests of files that it replaced."""

    artifact: ArtifactRow
    created: bool
    replaced: list[str]


def keep(
    database: Database,
    blobs: Store,
    described: NewArtifact,
    upload: PartialUpload,
    holder: Callable[[Transaction], AttemptRow],
) -> StoreResult:
    """Stores a synced file as an artifact of the attempt that `holder` returns.

    Raises what `holder` and `add` raise, and Unavailable.
    """
    with keeping(database, blobs, upload) as transaction:
        return add(transaction, holder(transaction), described, upload)


def add(
    transaction: Transaction, attempt: AttemptRow, described: NewArtifact, upload: PartialUpload
) -> StoreResult:
    """Adds the row of a stored file. The same file twice is one artifact.

    A checkpoint replaces the previous one. Raises ArtifactExists if another file has the name.
    """
    replaced = []
    for former in _of_attempt(transaction, attempt):
        same_name = former.name == described.name
        if same_name and former.role == described.role and former.sha256 == upload.sha256:
            return StoreResult(former, created=False, replaced=[])
        if described.role == "checkpoint" == former.role:
            transaction.connection.execute(delete(artifacts).where(artifacts.c.id == former.id))
            replaced.append(former.sha256)
        elif same_name:
            raise ArtifactExists()
    values: dict[str, Any] = {
        "id": ids.new_id(ids.ARTIFACT),
        "job_pk": attempt.job_pk,
        "attempt_pk": attempt.pk,
        "name": described.name,
        "role": described.role,
        "media_type": described.media_type,
        "size": upload.size,
        "sha256": upload.sha256,
        "created_at": transaction.now,
    }
    transaction.connection.execute(_ADD, values)
    own = {name: value for name, value in values.items() if not name.endswith("_pk")}
    stored = ArtifactRow(**own, attempt=attempt.number)
    return StoreResult(stored, created=True, replaced=replaced)


def get(transaction: Transaction, job: JobRow, artifact_id: str) -> ArtifactRow:
    """Returns an artifact of any attempt of a job. Raises NotFound."""
    row = None
    if ids.is_id(ids.ARTIFACT, artifact_id):
        query = _SELECTION.where(artifacts.c.id == artifact_id, artifacts.c.job_pk == job.pk)
        row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotFound("there is no such artifact of that job")
    return ArtifactRow.of(row)


def official(transaction: Transaction, job: JobRow) -> list[ArtifactRow]:
    """Returns the files of the latest attempt so far, which are the job's."""
    query = _SELECTION.where(
        artifacts.c.job_pk == job.pk, attempts.c.number == job.attempt
    ).order_by(artifacts.c.pk)
    return [ArtifactRow.of(row) for row in transaction.connection.execute(query)]


def is_complete(transaction: Transaction, attempt: AttemptRow) -> bool:
    """Returns whether the manifest, which is uploaded last, is stored."""
    return any(artifact.role == "manifest" for artifact in _of_attempt(transaction, attempt))


def latest_checkpoint(transaction: Transaction, job: JobRow) -> ArtifactRow | None:
    """Returns the checkpoint from which the next attempt resumes."""
    row = transaction.connection.execute(_LATEST_CHECKPOINT, {"of_job": job.pk}).one_or_none()
    return None if row is None else ArtifactRow.of(row)


def of_role(transaction: Transaction, job: JobRow, role: str) -> ArtifactRow | None:
    """Returns the latest file with a role of any attempt of a job."""
    query = _SELECTION.where(artifacts.c.job_pk == job.pk, artifacts.c.role == role)
    row = transaction.connection.execute(query.order_by(artifacts.c.pk.desc()).limit(1)).first()
    return None if row is None else ArtifactRow.of(row)


def _of_attempt(transaction: Transaction, attempt: AttemptRow) -> list[ArtifactRow]:
    rows = transaction.connection.execute(_OF_ATTEMPT, {"of_attempt": attempt.pk})
    return [ArtifactRow.of(row) for row in rows]
