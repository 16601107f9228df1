"""Routes of data sets and their versions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.data_sets import NAME_PATTERN
from ipulse_core.errors import Conflict, NotFound
from ipulse_service.agents import registry
from ipulse_service.datasets import listing, uploads, versions
from ipulse_service.datasets.facts import SamplePreview
from ipulse_service.datasets.versions import CHECKING, VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import ArtifactRow
from ipulse_service.http import file_response, pagination, problems
from ipulse_service.http.dependencies import DIGITS, State, WaitSeconds
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.datasets import (
    DatasetDetail,
    DatasetList,
    DatasetSummary,
    VersionInfo,
    VersionRequest,
)
from ipulse_service.http.state import AppState

DEFAULT_PAGE = 50
MAX_PAGE = 500
POLL_SECONDS = 1.0  # another replica may check the version

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FILE: dict[str, Any] = {"application/octet-stream": _BINARY}
DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": _FILE},
    206: {"description": "The bytes that the Range header names.", "content": _FILE},
    304: {"description": "The file still has the ETag of If-None-Match."},
    307: {"description": "The object store sends the file from the signed URL in Location."},
    **problems.documented(404, 416),
}

Name = Annotated[str, Path(description="The data set's name.", pattern=NAME_PATTERN)]
Number = Annotated[str, Path(description="The version's number, or `latest`.")]

router = APIRouter(prefix="/v1/datasets", tags=["data"], route_class=JSONRoute)


class UploadIncomplete(Conflict):
    """Bytes of the upload are missing; HEAD says how many the service has."""

    code = "upload_incomplete"


class DatasetQuery(BaseModel):
    """Query parameters of the list of data sets."""

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), DIGITS] = Field(
        default=DEFAULT_PAGE, description="Data sets on a page."
    )
    page_token: str | None = Field(
        default=None, max_length=1000, description="`next_page_token` of the page before."
    )


@router.get("", summary="List data sets", response_description="A page of data sets.")
def list_datasets(state: State, query: Annotated[DatasetQuery, Query()]) -> DatasetList:
    """Returns data sets that have a version which is not deleted, newest first."""
    before = None if query.page_token is None else pagination.decode(query.page_token, "datasets")
    with state.database.read() as transaction:
        found = listing.page(transaction, before, query.limit + 1)
        holders = registry.holders(transaction)
        shown = [
            DatasetSummary.from_row(dataset, _info(transaction, dataset.latest, holders))
            for dataset in found[: query.limit]
        ]
    has_more = len(found) > query.limit
    token = pagination.encode(found[query.limit - 1].pk, "datasets") if has_more else ""
    return DatasetList(datasets=shown, next_page_token=token)


@router.get(
    "/{name}",
    summary="Get a data set",
    response_description="The data set.",
    responses=problems.documented(404),
)
def get_dataset(name: Name, state: State) -> DatasetDetail:
    """Returns a data set with all its versions."""
    with state.database.read() as transaction:
        found = versions.of_dataset(transaction, name)
        holders = registry.holders(transaction)
        return DatasetDetail(
            name=name, versions=[_info(transaction, each, holders) for each in found]
        )


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
    name: Name, request: VersionRequest, state: State, seconds: WaitSeconds, response: Response
) -> VersionInfo:
    """Adds an uploaded file as a version of a data set, which is new or exists.

    The content is checked before jobs may use it. With `Prefer: wait=N` the response waits up to N
    seconds, at most 30, for the result.
    """
    version, is_new = await run_in_threadpool(_add, state, name, request.upload_id)
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
        return versions.preview(transaction, version, sample)


@router.delete(
    "/{name}/versions/{number}",
    status_code=204,
    summary="Delete a version",
    response_description="The version is deleted.",
    responses=problems.documented(404, 409),
)
async def delete_version(name: Name, number: Number, state: State) -> None:
    """Deletes a version that no job needs which is not over. Its number is not used again."""
    await _delete(state, name, number)


@router.delete(
    "/{name}",
    status_code=204,
    summary="Delete a data set",
    response_description="All versions are deleted.",
    responses=problems.documented(404, 409),
)
async def delete_dataset(name: Name, state: State) -> None:
    """Deletes all versions of a data set, or none if a job that is not over needs one."""
    await _delete(state, name, None)


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


def _add(state: AppState, name: str, upload_id: str) -> tuple[VersionRow, bool]:
    with state.database.write() as transaction:
        upload = uploads.get(transaction, upload_id)
        if not upload.is_complete:
            raise UploadIncomplete()
        added = versions.add(transaction, name, upload.sha256, upload.size)
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


async def _delete(state: AppState, name: str, number: str | None) -> None:
    for sha256 in await run_in_threadpool(_remove, state, name, number):
        await state.file_threads.run(artifacts.forget, state.database, state.blobs, sha256)


def _remove(state: AppState, name: str, number: str | None) -> set[str]:
    with state.database.write() as transaction:
        if number is None:
            found = versions.of_dataset(transaction, name)
        else:
            found = [versions.get(transaction, name, number)]
        return versions.remove(transaction, found)


def _read(state: AppState, name: str, number: str) -> VersionInfo:
    with state.database.read() as transaction:
        version = versions.get(transaction, name, number)
        return _info(transaction, version, registry.holders(transaction))


def _get_present(state: AppState, name: str, number: str) -> VersionRow:
    with state.database.read() as transaction:
        version = versions.get(transaction, name, number)
    if version.state == versions.DELETED:
        raise NotFound(f"{version.reference} is deleted")
    return version


def _info(
    transaction: Transaction, version: VersionRow, holders: Mapping[str, list[str]]
) -> VersionInfo:
    previews = versions.previews(transaction, version)
    jobs = versions.job_count(transaction, version.sha256)
    return VersionInfo.from_row(version, previews, jobs, holders.get(version.sha256, []))
