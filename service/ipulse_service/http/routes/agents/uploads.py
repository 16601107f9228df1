"""Routes on which an agent uploads the files of an attempt, with resumption after a cut.

A file is described by the query: its name, role, media type, `size` and `sha256`. The protocol is
that of the IETF draft on resumable uploads, reduced to what an agent needs:

* `PUT` sends a whole file in one request.
* `HEAD` answers with `Upload-Offset: N`, the number of bytes that the service has of the file.
* `PATCH` with `Upload-Offset: N` sends the rest from byte N on. The answer is 204, with the new
  offset, while bytes are missing.

The request that completes the file is answered with 201, or 200 if the attempt had stored the same
file before. The SHA-256 of the whole file is checked first; a wrong one is refused and what arrived
is deleted. An upload belongs to an attempt and a digest, so that no two files mix. While a request
writes it, another begins at byte 0 of a copy of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Transaction
from ipulse_service.files import stored
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads, problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import KNOWN_UPLOAD, AttemptId, Fence, State
from ipulse_service.http.files import receiving
from ipulse_service.http.problems import TooLarge
from ipulse_service.http.schemas.agents.uploads import (
    ArtifactQuery,
    FileName,
    FileQuery,
    UploadOffset,
)
from ipulse_service.http.schemas.jobs.artifacts import StoredFile
from ipulse_service.http.state import AppState
from ipulse_service.jobs import artifacts, losses
from ipulse_service.jobs.artifacts import NewArtifact, StoreResult
from ipulse_service.jobs.leases import AttemptRow

_STORED: dict[int | str, dict[str, Any]] = {
    200: {"model": StoredFile, "description": "The attempt has stored the same file before."},
    201: {"model": StoredFile, "description": "The file is stored."},
    **problems.documented(404, 409, 413, 422),
}
_HELD = problems.documented(404, 409)

router = APIRouter(
    prefix="/v1/worker/attempts/{attempt_id}/artifacts",
    tags=["worker"],
    dependencies=KNOWN_UPLOAD,
)
_log = logging.getLogger(__name__)


@router.head(
    "/{name}",
    response_class=Response,
    summary="Get the offset of an upload",
    responses={200: receiving.OFFSET, **_HELD},
)
@open_to("worker")
def get_offset(
    attempt_id: AttemptId, name: FileName, fence: Fence, query: FileQuery, state: State
) -> Response:
    """Returns how many bytes of a file the service has, in `Upload-Offset`."""
    log.bind(attempt=attempt_id)
    attempt_pk = _check_held(state, attempt_id, fence)
    return receiving.offset_response(state.blobs.arrived(_upload_name(attempt_pk, query)), 200)


@router.put("/{name}", summary="Upload a file", responses=_STORED, openapi_extra=receiving.BODY)
@open_to("worker")
async def put_file(
    attempt_id: AttemptId,
    name: FileName,
    fence: Fence,
    query: FileQuery,
    state: State,
    request: Request,
) -> Response:
    """Stores a whole file. The same file twice is one artifact."""
    return await _receive(request, state, attempt_id, fence, name, query, None)


@router.patch(
    "/{name}",
    summary="Resume an upload",
    responses={
        **_STORED,
        204: {**receiving.OFFSET, "description": "Bytes of the file are missing."},
    },
    openapi_extra=receiving.BODY,
)
@open_to("worker")
async def append_to_file(
    attempt_id: AttemptId,
    name: FileName,
    fence: Fence,
    query: FileQuery,
    state: State,
    request: Request,
    upload_offset: UploadOffset,
) -> Response:
    """Appends to an interrupted upload, and stores the file once it is complete."""
    return await _receive(request, state, attempt_id, fence, name, query, upload_offset)


async def _receive(
    request: Request,
    state: AppState,
    attempt_id: str,
    fence: str,
    name: str,
    query: ArtifactQuery,
    offset: int | None,  # None: a whole file
) -> Response:
    log.bind(attempt=attempt_id)
    threads = state.file_threads
    async with payloads.stream(request) as chunks:
        artifact = query.new_artifact(name)
        if query.size > state.settings.max_artifact_bytes:
            raise TooLarge((), f"a file may have {state.settings.max_artifact_bytes:,} bytes")
        attempt_pk = await run_in_threadpool(_check_held, state, attempt_id, fence)
        upload = await threads.run(state.blobs.receive, _upload_name(attempt_pk, query))
        await receiving.begin(upload, offset or 0, threads)
        try:
            await receiving.append(upload, chunks, query.size, threads)
            if offset is not None and upload.size < query.size:
                upload.suspend()
                return receiving.offset_response(upload.size, 204)
            receiving.check_content(upload, query.size, query.sha256, "/query")
            await threads.run(upload.sync)
            stored = await threads.run(_store, state, attempt_id, fence, artifact, upload)
        except (ClientDisconnect, asyncio.CancelledError):  # a stop of the service cancels it
            upload.suspend()
            raise
        except BaseException:
            await threads.run(upload.close)
            raise
        await threads.run(upload.close)
    return _stored_response(state, stored)


def _check_held(state: AppState, attempt_id: str, fence: str) -> int:
    with state.database.read() as transaction:
        return losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds).pk


def _upload_name(attempt_pk: int, query: ArtifactQuery) -> str:
    return f"{attempt_pk}-{query.sha256}"


def _store(
    state: AppState, attempt_id: str, fence: str, artifact: NewArtifact, upload: PartialUpload
) -> StoreResult:
    def holder(transaction: Transaction) -> AttemptRow:
        return losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)

    return artifacts.keep(state.database, state.blobs, artifact, upload, holder)


def _stored_response(state: AppState, stored: StoreResult) -> Response:
    body = StoredFile(artifact_id=stored.artifact.id, sha256=stored.artifact.sha256)
    answer = JSONResponse(body.model_dump(), 201 if stored.created else 200)
    if stored.replaced:
        # After the answer: deleting a large file takes long.
        answer.background = BackgroundTask(_delete_replaced, state, stored.replaced)
    return answer


async def _delete_replaced(state: AppState, digests: Sequence[str]) -> None:
    """Deletes replaced files. After a failure or a crash the housekeeper does."""
    try:
        for sha256 in digests:
            await state.file_threads.run(stored.forget, state.database, state.blobs, sha256)
    except Unavailable as error:
        _log.warning("replaced_file_left", extra={"error": error.message})
