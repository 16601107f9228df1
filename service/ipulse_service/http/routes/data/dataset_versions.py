"""Routes of the versions of data sets: add, check, download, look at and delete them."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotFound
from ipulse_service.agents import registry
from ipulse_service.datasets import previews, uploads, versions
from ipulse_service.datasets.facts import SamplePreview
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.version_states import CHECKING, DELETED
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http import problems
from ipulse_service.http.dependencies import CurrentCaller, State, WaitSeconds
from ipulse_service.http.files import file_response
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.routes.data.datasets import Name, delete, version_info
from ipulse_service.http.schemas.data.datasets import VersionInfo, VersionRequest
from ipulse_service.http.state import AppState

POLL_SECONDS = 1.0  # another replica may check the version

DOWNLOAD = file_response.documented("application/octet-stream")

Number = Annotated[str, Path(description="The version's number, or `latest`.")]

router = APIRouter(prefix="/v1/datasets", tags=["data"], route_class=JSONRoute)


@router.post(
    "/{name}/versions",
    status_code=202,
    summary="Add a version",
    response_description="The version waits for its check.",
    responses={
        200: {"model": VersionInfo, "description": "The latest version has the same content."},
        **problems.documented(404, 409, 413, 415, 422),
    },
)
async def add_version(
    name: Name,
    request: VersionRequest,
    state: State,
    caller: CurrentCaller,
    seconds: WaitSeconds,
    response: Response,
) -> VersionInfo:
    """Adds an uploaded file as a version of a data set, which is new or exists.

    The content is checked before jobs may use it. With `Prefer: wait=N` the response waits up to N
    seconds, at most 30, for the result.
    """
    version, is_new = await run_in_threadpool(_add, state, name, request.upload_id, caller.name)
    response.status_code = 202 if is_new else 200
    response.headers["location"] = f"/v1/datasets/{name}/versions/{version.number}"
    return await _wait(state, name, str(version.number), seconds)


@router.get(
    "/{name}/versions/{number}",
    summary="Get a version",
    response_description="The version.",
    responses=problems.documented(404),
)
async def get_version(
    name: Name, number: Number, state: State, seconds: WaitSeconds
) -> VersionInfo:
    """Returns a version of a data set.

    With `Prefer: wait=N` the response waits up to N seconds, at most 30, until it is checked.
    """
    return await _wait(state, name, number, seconds)


@router.head("/{name}/versions/{number}/content", response_class=Response, include_in_schema=False)
@router.get(
    "/{name}/versions/{number}/content",
    response_class=Response,
    summary="Download a version",
    responses=DOWNLOAD,
)
async def download_version(name: Name, number: Number, state: State, request: Request) -> Response:
    """Returns the file of a version, or one range of its bytes. Its ETag is the SHA-256."""
    version = await run_in_threadpool(_get_present, state, name, number)
    may_redirect = "sec-fetch-dest" not in request.headers  # the web page's policy forbids it
    return await file_response.respond(
        request, as_file(version), state.blobs, state.file_threads, "attachment", may_redirect
    )


@router.get(
    "/{name}/versions/{number}/samples/{sample}",
    summary="Look at a sample",
    response_description="The sample.",
    responses=problems.documented(404),
)
def get_sample(
    name: Name,
    number: Number,
    sample: Annotated[str, Path(description="One of `previews`.")],
    state: State,
) -> SamplePreview:
    """Returns the events of one of the version's `previews`, at most 1,000 of them."""
    with state.database.read() as transaction:
        version = versions.get(transaction, name, number)
        return previews.preview(transaction, version, sample)


@router.delete(
    "/{name}/versions/{number}",
    status_code=204,
    summary="Delete a version",
    response_description="The version is deleted.",
    responses=problems.documented(404, 409),
)
async def delete_version(name: Name, number: Number, state: State) -> None:
    """Deletes a version that no job needs which is not over. Its number is not used again."""
    await delete(state, name, number)


def as_file(version: VersionRow) -> ArtifactRow:
    """Returns the file of a version as downloads need it."""
    name = f"{version.name[:100]}-{version.number}"
    return ArtifactRow(
        id="",
        name=name,
        role="dataset",
        media_type="application/octet-stream",
        size=version.size,
        sha256=version.sha256,
        attempt=0,
        created_at=version.created_at,
    )


def _add(state: AppState, name: str, upload_id: str, token: str) -> tuple[VersionRow, bool]:
    with state.database.write() as transaction:
        upload = uploads.get_complete(transaction, upload_id)
        added = versions.add(transaction, name, upload.sha256, upload.size, token)
        uploads.remove(transaction, upload_id)  # the version keeps the content
        return added


async def _wait(state: AppState, name: str, number: str, seconds: float) -> VersionInfo:
    """Returns the version once it is checked, or when the time is over."""
    deadline = time.monotonic() + seconds
    with state.notifier.watch(versions.topic(name)) as watch:
        while True:
            watch.clear()
            version = await run_in_threadpool(_read, state, name, number)
            left = deadline - time.monotonic()
            if version.state != CHECKING or left <= 0 or state.notifier.stopping:
                return version
            await watch.wait(min(left, POLL_SECONDS))


def _read(state: AppState, name: str, number: str) -> VersionInfo:
    with state.database.read() as transaction:
        version = versions.get(transaction, name, number)
        return version_info(transaction, version, registry.holders(transaction))


def _get_present(state: AppState, name: str, number: str) -> VersionRow:
    with state.database.read() as transaction:
        version = versions.get(transaction, name, number)
    if version.state == DELETED:
        raise NotFound(f"{version.reference} is deleted")
    return version
