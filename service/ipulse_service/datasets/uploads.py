"""Uploads of users: their rows. The bytes are in the store, or in a partial upload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from ipulse_core import ids
from ipulse_core.errors import Conflict, NotFound
from ipulse_core.quotas import Quota
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import dataset_versions, datasets, uploads
from ipulse_service.db.version_states import READY
from ipulse_service.files import stored
from ipulse_service.files.partial_upload import ABANDONED_SECONDS, PartialUpload
from ipulse_service.files.stored import Store
from ipulse_service.quotas import store as quotas

MAX_UNFINISHED = 8  # of one caller
CODE = ("program", "op")  # purposes that need the right to submit code


class TooManyUploads(Conflict):
    """This token has too many unfinished uploads: finish or delete some of them."""

    code = "too_many_uploads"


class UploadIncomplete(Conflict):
    """Bytes of the upload are missing; HEAD says how many the service has."""

    code = "upload_incomplete"


@dataclass(frozen=True)
class UploadRow:
    """The row of an upload. Times are milliseconds since 1970."""

    id: str
    purpose: str
    size: int
    sha256: str
    expires_at: int
    completed_at: int | None  # None: bytes are missing

    @classmethod
    def of(cls, row: Row[Any]) -> UploadRow:
        """Makes an upload of a row."""
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})

    @property
    def is_complete(self) -> bool:
        """Return whether the store has all bytes."""
        return self.completed_at is not None


def start(
    database: Database, caller: str, purpose: str, size: int, sha256: str
) -> tuple[UploadRow, bool]:
    """Returns an upload and whether it is new: one digest is uploaded once.

    Raises TooManyUploads.
    """
    # Under the lock, a known file is not deleted before its new row is there.
    with database.exclusively(stored.lock_name(sha256)), database.write() as transaction:
        transaction.lock(f"uploads/{caller}")
        now = transaction.now
        query = (
            select(uploads)
            .where(uploads.c.sha256 == sha256, uploads.c.size == size)
            .where(uploads.c.caller == caller, uploads.c.expires_at > now)
            .where(uploads.c.purpose == purpose)
            .limit(1)
        )
        former = transaction.connection.execute(query).one_or_none()
        if former is not None:
            return UploadRow.of(former), False
        # Code is checked as code, whatever else has the same content.
        if purpose not in CODE and _is_known(transaction, sha256, size):
            return add_complete(transaction, caller, purpose, size, sha256), False
        _check_unfinished(transaction, caller)
        project = transaction.access.project
        quotas.check(transaction, Quota.UPLOADS, project, caller)
        quotas.check(transaction, Quota.BYTES, project, caller, size)
        return _add(transaction, caller, purpose, size, sha256, None), True


def add_complete(
    transaction: Transaction, caller: str, purpose: str, size: int, sha256: str
) -> UploadRow:
    """Adds an upload of a file that the store has, which keeps it there for a day."""
    return _add(transaction, caller, purpose, size, sha256, transaction.now)


def add_made(
    transaction: Transaction, caller: str, purpose: str, size: int, sha256: str
) -> UploadRow:
    """Adds an upload of a file that the service made for a caller, as if it had been uploaded.

    One with this content is kept for another day instead. Raises QuotaExceeded.
    """
    former = with_content(transaction, purpose, sha256)
    if former is None:
        project = transaction.access.project
        quotas.check(transaction, Quota.UPLOADS, project, caller)
        quotas.check(transaction, Quota.BYTES, project, caller, size)
        return add_complete(transaction, caller, purpose, size, sha256)
    change = update(uploads).where(uploads.c.id == former.id).values(expires_at=_end(transaction))
    transaction.connection.execute(change)
    return get(transaction, former.id)


def get(transaction: Transaction, upload_id: str) -> UploadRow:
    """Returns an upload. Raises NotFound."""
    row = None
    if ids.is_id(ids.UPLOAD, upload_id):
        query = select(uploads).where(uploads.c.id == upload_id)
        row = transaction.connection.execute(query).one_or_none()
    is_own = row is not None and _is_own(transaction, row.caller)
    if row is None or not is_own or row.expires_at <= transaction.now:
        raise NotFound("there is no such upload; unfinished ones are forgotten after a day")
    return UploadRow.of(row)


def get_complete(transaction: Transaction, upload_id: str) -> UploadRow:
    """Returns a complete upload. Raises NotFound and UploadIncomplete."""
    upload = get(transaction, upload_id)
    if not upload.is_complete:
        raise UploadIncomplete()
    return upload


def with_content(transaction: Transaction, purpose: str, sha256: str) -> UploadRow | None:
    """Returns a complete upload with this content, which stays until the transaction ends."""
    query = (
        select(uploads)
        .where(uploads.c.sha256 == sha256, uploads.c.purpose == purpose)
        .where(uploads.c.completed_at.is_not(None), uploads.c.expires_at > transaction.now)
        .where(uploads.c.caller == transaction.access.name)
        .limit(1)
        .with_for_update(read=True)
    )
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else UploadRow.of(row)


def finish(
    database: Database,
    blobs: Store,
    upload: UploadRow,
    file: PartialUpload,
    also: Callable[[Transaction], None] | None = None,
) -> None:
    """Takes a synced file with the right digest into the store. Raises NotFound, Unavailable.

    `also` is called in the same transaction.
    """
    with stored.keeping(database, blobs, file) as transaction:
        get(transaction, upload.id)
        if also is not None:
            also(transaction)
        elif upload.purpose in CODE:
            project = transaction.access.project
            transaction.audit("program.push", upload.id, project, f"sha256:{upload.sha256}")
        change = (
            update(uploads).where(uploads.c.id == upload.id).values(completed_at=transaction.now)
        )
        transaction.connection.execute(change)


def remove(transaction: Transaction, upload_id: str) -> UploadRow:
    """Deletes the row of an upload and returns it. Raises NotFound."""
    upload = get(transaction, upload_id)
    transaction.connection.execute(delete(uploads).where(uploads.c.id == upload_id))
    return upload


def forget_expired(transaction: Transaction) -> int:
    """Deletes the rows of uploads that nobody finished or used, and returns how many."""
    old = uploads.c.expires_at <= transaction.now
    return transaction.connection.execute(delete(uploads).where(old)).rowcount


def _add(
    transaction: Transaction,
    caller: str,
    purpose: str,
    size: int,
    sha256: str,
    completed_at: int | None,
) -> UploadRow:
    values = {
        "id": ids.new_id(ids.UPLOAD),
        "caller": caller,
        "project": transaction.access.project,
        "purpose": purpose,
        "size": size,
        "sha256": sha256,
        "created_at": transaction.now,
        "expires_at": _end(transaction),
        "completed_at": completed_at,
    }
    transaction.connection.execute(insert(uploads).values(values))
    return get(transaction, str(values["id"]))


def _end(transaction: Transaction) -> int:
    return transaction.now + ABANDONED_SECONDS * 1000


def _is_known(transaction: Transaction, sha256: str, size: int) -> bool:
    """Return whether the caller can read a file with this content anyway."""
    query = (
        select(dataset_versions.c.pk)
        .where(dataset_versions.c.sha256 == sha256, dataset_versions.c.size == size)
        .join(datasets, datasets.c.pk == dataset_versions.c.dataset_pk)
        .where(dataset_versions.c.state == READY, transaction.access.where(datasets))
        .limit(1)
    )
    return transaction.connection.execute(query).first() is not None


def _is_own(transaction: Transaction, caller: str) -> bool:
    return transaction.access.is_trusted or transaction.access.name == caller


def _check_unfinished(transaction: Transaction, caller: str) -> None:
    query = select(func.count()).where(
        uploads.c.caller == caller,
        uploads.c.completed_at.is_(None),
        uploads.c.expires_at > transaction.now,
    )
    if transaction.connection.execute(query).scalar_one() >= MAX_UNFINISHED:
        raise TooManyUploads()
