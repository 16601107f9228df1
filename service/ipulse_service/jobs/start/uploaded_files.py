"""The uploaded file that a job starts from: weights, or a source package."""

from __future__ import annotations

import json
from typing import NamedTuple

from sqlalchemy import select

from ipulse.spec import AnySpec, CodeSpec
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.source_package import PREFIX
from ipulse_service.datasets import uploads
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.start.start_file import FileMode, StartFile


def uploaded(transaction: Transaction, spec: AnySpec) -> StartFile | None:
    """Returns the uploaded file that a spec names: initial weights, or a source package.

    Returns None if it names none. Raises InvalidInput where there is no such upload.
    """
    if isinstance(spec, CodeSpec):
        return _upload(transaction, _PACKAGE, spec.package.removeprefix(PREFIX))
    initial = spec.network.initial
    if initial is None or initial.upload is None:
        return None
    return _upload(transaction, _WEIGHTS, initial.upload)


class _Uploaded(NamedTuple):
    """A kind of file that a spec may name."""

    mode: FileMode
    purpose: str
    name: str
    media_type: str
    pointer: str
    what: str
    hint: str


_WEIGHTS = _Uploaded(
    "weights",
    "weights",
    "weights.npz",
    "application/octet-stream",
    "/network/initial/upload",
    "file of weights",
    "`ipulse submit --weights FILE`",
)
_PACKAGE = _Uploaded(
    "package",
    "program",
    "package.tar",
    "application/x-tar",
    "/package",
    "source package",
    "`ipulse program push FOLDER`",
)


def _upload(transaction: Transaction, kind: _Uploaded, sha256: str) -> StartFile:
    upload = uploads.with_content(transaction, kind.purpose, sha256)
    if upload is not None:
        return StartFile(
            job="",
            mode=kind.mode,
            artifact_id=upload.id,
            name=kind.name,
            role=kind.mode,
            media_type=kind.media_type,
            sha256=upload.sha256,
            size=upload.size,
            epoch=None,
        )
    query = select(jobs.c.start_from).where(jobs.c.start_sha256 == sha256)
    query = query.where(transaction.access.where(jobs))
    for text in transaction.connection.execute(query).scalars():
        file = StartFile(**json.loads(text))
        if not file.job and file.mode == kind.mode:
            return file
    detail = f"no such {kind.what} was uploaded in the last day: upload it with {kind.hint}"
    raise InvalidInput([Problem(kind.pointer, "upload_unknown", detail)])
