"""The store of files: which rows need one, and how one comes and goes with its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Row, bindparam, case, or_, select

from ipulse_core.errors import IPUlseError, Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import artifacts, dataset_versions, job_ops, jobs, ops, uploads
from ipulse_service.db.version_states import DELETED
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.files.s3 import S3Blobs

Store = Blobs | S3Blobs

_DIGEST: BindParameter[str] = bindparam("of_digest")
_USES = (
    select(artifacts.c.pk).where(artifacts.c.sha256 == _DIGEST),
    select(dataset_versions.c.pk).where(
        dataset_versions.c.sha256 == _DIGEST, dataset_versions.c.state != DELETED
    ),
    select(jobs.c.pk).where(jobs.c.dataset_sha256 == _DIGEST),
    select(jobs.c.pk).where(jobs.c.start_sha256 == _DIGEST),
    select(ops.c.pk).where(ops.c.sha256 == _DIGEST),
    select(job_ops.c.job_pk).where(job_ops.c.sha256 == _DIGEST),
    select(uploads.c.id).where(uploads.c.sha256 == _DIGEST, uploads.c.completed_at.is_not(None)),
)
_IS_USED = select(case((or_(*(each.exists() for each in _USES)), 1), else_=0))

ORPHAN_SECONDS = 3600  # a younger file without a row may be about to get one


@dataclass(frozen=True)
class ArtifactRow:
    """The row of a stored file. Times are milliseconds since 1970."""

    id: str
    name: str
    role: str
    media_type: str
    size: int  # bytes
    sha256: str
    attempt: int  # number of the attempt that left it
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> ArtifactRow:
        """Makes an artifact of a row."""
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})


@contextmanager
def keeping(database: Database, blobs: Store, upload: PartialUpload) -> Iterator[Transaction]:
    """Stores a synced file, then opens the transaction in which the caller adds its row.

    If the transaction fails, the file is deleted. It does not wait for the store, which may be
    slow. Raises Unavailable.
    """
    with database.exclusively(lock_name(upload.sha256)):
        blobs.keep(upload)
        try:
            with database.write() as transaction:
                yield transaction
        except IPUlseError:
            with suppress(Unavailable):  # the housekeeper deletes it then
                _discard_unless_used(database, blobs, upload.sha256)
            raise


def forget(database: Database, blobs: Store, sha256: str) -> None:
    """Deletes a file unless a row refers to it."""
    # Under the lock, no row of this digest is added between check and deletion.
    with database.exclusively(lock_name(sha256)):
        _discard_unless_used(database, blobs, sha256)


def collect(database: Database, blobs: Store) -> int:
    """Deletes files that a crash left without a row, and returns how many."""
    removed = 0
    for sha256 in blobs.kept(ORPHAN_SECONDS):
        with database.read() as transaction:
            is_used = _is_used(transaction, sha256)
        if not is_used:
            forget(database, blobs, sha256)
            removed += 1
    return removed


def lock_name(sha256: str) -> str:
    """Returns the name to lock while a row for a stored file is added, or the file deleted."""
    return f"blob/{sha256}"


def _discard_unless_used(database: Database, blobs: Store, sha256: str) -> None:
    with database.read() as transaction:
        is_used = _is_used(transaction, sha256)
    if not is_used:
        blobs.discard(sha256)


def _is_used(transaction: Transaction, sha256: str) -> bool:
    return bool(transaction.connection.execute(_IS_USED, {"of_digest": sha256}).scalar_one())
