"""The store of files: which rows need one, and how one comes and goes with its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Row,
    Table,
    bindparam,
    case,
    or_,
    select,
    true,
)

from ipulse_core.errors import IPUlseError, Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import artifacts, dataset_versions, job_ops, jobs, ops, uploads
from ipulse_service.db.version_states import DELETED
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.settings import Settings

Store = Blobs | S3Blobs

# The columns that refer to a stored file, each with the condition under which it does, and whether
# the file must be there: an imported job also names files that never were.
_REFERENCES: tuple[tuple[Column[str], ColumnElement[bool], bool], ...] = (
    (artifacts.c.sha256, true(), True),
    (dataset_versions.c.sha256, dataset_versions.c.state != DELETED, True),
    (jobs.c.dataset_sha256, true(), False),
    (jobs.c.start_sha256, true(), False),
    (ops.c.sha256, true(), True),
    (job_ops.c.sha256, true(), False),
    (uploads.c.sha256, uploads.c.completed_at.is_not(None), True),
)
_DIGEST: BindParameter[str] = bindparam("of_digest")
_USES = (select(column).where(column == _DIGEST, where) for column, where, _ in _REFERENCES)
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


def open_store(settings: Settings) -> Store:
    """Returns the store of files. Raises MissingDependency or Unavailable for a bucket."""
    if not settings.s3_bucket:
        return Blobs(settings.artifacts_dir)
    spool = settings.artifacts_dir / "spool"
    return S3Blobs(settings.s3_bucket, settings.s3_endpoint_url, settings.s3_prefix, spool)


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


def used_digests(
    transaction: Transaction, among: Callable[[Table], ColumnElement[bool]] = lambda _: true()
) -> dict[str, bool]:
    """Returns the digests of the files that rows refer to, and whether each file must be there.

    `among` is the condition for the rows of a table that count.
    """
    found: dict[str, bool] = {}
    for column, where, is_required in _REFERENCES:
        query = select(column).where(column.is_not(None), where, among(column.table)).distinct()
        for sha256 in transaction.connection.execute(query).scalars():
            found[sha256] = is_required or found.get(sha256, False)
    return found


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
