"""The pushed ops: their rows. The bytes of a package are in the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Row, delete, func, insert, select

from ipulse_core.errors import NotFound
from ipulse_core.op_manifest.manifest import OpManifest
from ipulse_core.op_manifest.reader import parse_manifest
from ipulse_core.spec.custom_ops import OpReference
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_ops, jobs, ops, uploads

_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class OpRow:
    """The row of a pushed op. Times are milliseconds since 1970."""

    pk: int
    name: str
    sha256: str  # of its package
    size: int  # bytes
    manifest: str  # op.json, as it was pushed
    created_at: int
    pushed_by: str | None  # name of a token
    project: str
    owner: str  # who may delete it

    @classmethod
    def of(cls, row: Row[Any]) -> OpRow:
        """Makes an op of a row."""
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})

    @property
    def reference(self) -> str:
        """The op as a spec names it."""
        return str(OpReference(self.name, self.sha256))

    @cached_property
    def parsed(self) -> OpManifest:
        """The manifest, which was checked before it was stored."""
        return parse_manifest(self.manifest.encode(), lambda _: True)


def adding(
    name: str, manifest: str, upload: UploadRow, name_of_caller: Callable[[Transaction], str]
) -> Callable[[Transaction], None]:
    """Returns a function that adds the op of an upload, unless it is there."""

    def add(transaction: Transaction) -> None:
        transaction.lock(_lock_name(upload.sha256))
        found = _find(transaction, upload.sha256)
        if found is not None and found.project == transaction.access.project:
            return
        values = {
            "name": name,
            "sha256": upload.sha256,
            "size": upload.size,
            "manifest": manifest,
            "created_at": transaction.now,
            "pushed_by": name_of_caller(transaction),
            **transaction.access.ownership(),
        }
        transaction.audit("op.push", name, transaction.access.project, f"sha256:{upload.sha256}")
        transaction.connection.execute(insert(ops).values(values))

    return add


def get(transaction: Transaction, sha256: str) -> OpRow:
    """Returns an op. Raises NotFound."""
    found = _find(transaction, sha256)
    if found is None:
        raise NotFound("no op with this digest was pushed; `ipulse op list` shows all")
    return found


def find(transaction: Transaction, reference: OpReference) -> OpRow | None:
    """Returns the op that a spec names, if it was pushed; a writing transaction keeps it there."""
    found = _find(transaction, reference.digest, is_kept=transaction.is_writing)
    return found if found is not None and found.name == reference.name else None


def page(transaction: Transaction, before: int | None, limit: int) -> list[OpRow]:
    """Returns ops, newest first, from behind one on."""
    query = select(ops).where(transaction.access.where(ops))
    query = query.order_by(ops.c.pk.desc()).limit(limit)
    if before is not None:
        query = query.where(ops.c.pk <= before)
    return [OpRow.of(row) for row in transaction.connection.execute(query)]


def job_counts(transaction: Transaction, digests: Collection[str]) -> dict[str, int]:
    """Returns how many jobs name each of these ops, those that are over too."""
    query = select(job_ops.c.sha256, func.count()).where(job_ops.c.sha256.in_(digests))
    query = query.join(jobs, jobs.c.pk == job_ops.c.job_pk).where(transaction.access.where(jobs))
    rows = transaction.connection.execute(query.group_by(job_ops.c.sha256))
    return {**dict.fromkeys(digests, 0), **dict(map(tuple, rows))}


def remove(transaction: Transaction, sha256: str) -> None:
    """Deletes the row of an op; jobs that use it keep its package. Raises NotFound, NotPermitted.

    Its uploads are forgotten, too: otherwise it could not be pushed again for a day.
    """
    transaction.lock(_lock_name(sha256))
    op = get(transaction, sha256)
    transaction.access.check_change(op.project, op.owner)
    transaction.audit("op.delete", op.name, op.project, f"sha256:{sha256}")
    done = (uploads.c.sha256 == sha256, uploads.c.completed_at.is_not(None))
    transaction.connection.execute(delete(uploads).where(uploads.c.purpose == "op", *done))
    transaction.connection.execute(delete(ops).where(ops.c.pk == op.pk))


def _find(transaction: Transaction, sha256: str, is_kept: bool = False) -> OpRow | None:
    if not _DIGEST.fullmatch(sha256):
        return None
    access = transaction.access
    query = select(ops).where(ops.c.sha256 == sha256, access.where(ops))
    in_project = ops.c.project == access.preferred_project
    query = query.order_by(in_project.desc(), ops.c.pk).limit(1)
    if is_kept:  # until a job that names it is stored
        query = query.with_for_update(read=True)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else OpRow.of(row)


def _lock_name(sha256: str) -> str:
    return f"ops/{sha256}"
