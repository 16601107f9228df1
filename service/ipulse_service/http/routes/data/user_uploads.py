"""Routes on which a user uploads a file, with resumption after a cut.

`POST /v1/uploads` announces the file and returns the upload that has begun, if there is one.
`HEAD` says how many bytes the service has, and `PATCH` sends the others, in one request or several.
"""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ipulse_core import source_package
from ipulse_core.errors import Problem
from ipulse_core.source_package import InvalidPackage
from ipulse_service.datasets import uploads
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.db.engine import Transaction
from ipulse_service.files import stored
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads, problems
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.files import receiving
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.problems import TooLarge
from ipulse_service.http.schemas.agents.uploads import UploadOffset
from ipulse_service.http.schemas.data.datasets import UploadInfo, UploadRequest
from ipulse_service.http.state import AppState
from ipulse_service.ops import registry
from ipulse_service.reading.reader import PACKAGE, Unreadable

UploadId = Annotated[str, Path(description="The upload's id.")]

_KNOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "model": UploadInfo,
        "description": "The same file is being uploaded, or the service has it.",
    },
    **problems.documented(409, 413, 415, 422),
}

router = APIRouter(prefix="/v1/uploads", tags=["data"], route_class=JSONRoute)
content_router = APIRouter(prefix="/v1/uploads", tags=["data"])


@router.post(
    "",
    status_code=201,
    summary="Announce a file",
    response_description="The upload may begin.",
    responses=_KNOWN,
)
def start_upload(
    announced: UploadRequest, state: State, caller: CurrentCaller, response: Response
) -> UploadInfo:
    """Begins an upload, or returns the one of the same file that has begun.

    `complete` is true if the service has the content of a data set that every user may read: then
    nothing need be sent.
    """
    if announced.purpose in uploads.CODE:
        caller.access.check_submits_code(caller.access.project)
        if announced.size > source_package.MAX_BYTES:
            detail = f"a source package may have {source_package.MAX_BYTES:,} bytes"
            raise TooLarge((), f"{detail}; this one has {announced.size:,}")
    limit = state.settings.max_dataset_bytes
    if announced.size > limit:
        raise TooLarge(
            (),
            f"a file may have {limit:,} bytes; this one has {announced.size:,}: split it, or "
            "raise IPULSE_MAX_DATASET_BYTES of the service",
        )
    upload, is_new = uploads.start(
        state.database, caller.name, announced.purpose, announced.size, announced.sha256
    )
    info = _info(state, upload)
    response.status_code = 201 if is_new else 200
    response.headers["location"] = f"/v1/uploads/{upload.id}"
    response.headers["upload-offset"] = str(info.offset)
    return info


@content_router.get(
    "/{upload_id}",
    summary="Get an upload",
    response_description="The upload.",
    responses=problems.documented(404),
)
def get_upload(upload_id: UploadId, state: State) -> UploadInfo:
    """Returns an upload with the number of bytes that the service has."""
    return _info(state, _get(state, upload_id))


@content_router.head(
    "/{upload_id}",
    response_class=Response,
    summary="Get the offset of an upload",
    responses={200: receiving.OFFSET, **problems.documented(404)},
)
def get_upload_offset(upload_id: UploadId, state: State) -> Response:
    """Returns how many bytes of the file the service has, in `Upload-Offset`."""
    return receiving.offset_response(_info(state, _get(state, upload_id)).offset, 200)


@content_router.patch(
    "/{upload_id}",
    status_code=204,
    response_class=Response,
    summary="Send bytes of a file",
    responses={
        204: {**receiving.OFFSET, "description": "The bytes have arrived."},
        **problems.documented(404, 409, 422),
    },
    openapi_extra=receiving.BODY,
)
async def append_to_upload(
    upload_id: UploadId,
    state: State,
    caller: CurrentCaller,
    request: Request,
    upload_offset: UploadOffset,
) -> Response:
    """Appends bytes from `Upload-Offset` on; with the last one, the whole file is verified."""
    threads = state.file_threads
    async with payloads.stream(request) as chunks:
        upload = await run_in_threadpool(_get, state, upload_id)
        if upload.is_complete:
            raise receiving.WrongOffset("the service has all bytes of the file")
        file = await threads.run(state.blobs.receive, upload.id)
        await receiving.begin(file, upload_offset, threads)
        try:
            await receiving.append(file, chunks, upload.size, threads, "/body")
            if file.size < upload.size:
                file.suspend()
                return receiving.offset_response(file.size, 204)
            receiving.check_content(file, upload.size, upload.sha256, "/body")
            also: Callable[[Transaction], None] | None = None
            if upload.purpose in uploads.CODE:
                found = await state.reader.in_turn(
                    caller.name, _read_package, state, upload.purpose, file.path
                )
                if upload.purpose == "op":
                    also = registry.adding(
                        found["name"], found["manifest"], upload, caller.token_name
                    )
            await threads.run(file.sync)
            await threads.run(uploads.finish, state.database, state.blobs, upload, file, also)
        except (ClientDisconnect, asyncio.CancelledError):  # a stop of the service cancels it
            file.suspend()
            raise
        except BaseException:
            await threads.run(file.close)
            raise
        await threads.run(file.close)
    return receiving.offset_response(upload.size, 204)


@content_router.delete(
    "/{upload_id}",
    status_code=204,
    summary="Give up an upload",
    response_description="The upload is forgotten.",
    responses=problems.documented(404),
)
async def delete_upload(upload_id: UploadId, state: State) -> None:
    """Forgets an upload and deletes its bytes, unless a data set has them."""
    upload = await run_in_threadpool(_remove, state, upload_id)
    await state.file_threads.run(state.blobs.drop, upload.id)
    await state.file_threads.run(stored.forget, state.database, state.blobs, upload.sha256)


def _read_package(state: AppState, purpose: str, path: pathlib.Path) -> dict[str, Any]:
    try:
        return state.reader.read(PACKAGE, [purpose, path])
    except Unreadable as error:
        raise InvalidPackage([Problem("", "invalid_package", error.detail)]) from error


def _get(state: AppState, upload_id: str) -> UploadRow:
    log.bind(upload=upload_id)
    with state.database.read() as transaction:
        return uploads.get(transaction, upload_id)


def _remove(state: AppState, upload_id: str) -> UploadRow:
    log.bind(upload=upload_id)
    with state.database.write() as transaction:
        return uploads.remove(transaction, upload_id)


def _info(state: AppState, upload: UploadRow) -> UploadInfo:
    offset = upload.size if upload.is_complete else state.blobs.arrived(upload.id)
    return UploadInfo.from_row(upload, offset)
