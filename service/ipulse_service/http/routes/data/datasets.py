"""Routes of data sets: list, read and delete them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool

from ipulse_core.data_sets import NAME_PATTERN
from ipulse_service.agents import registry
from ipulse_service.datasets import listing, previews, removal, versions
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.files import stored
from ipulse_service.http import pagination, problems
from ipulse_service.http.dependencies import State
from ipulse_service.http.pagination import PageQuery
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.data.datasets import (
    DatasetDetail,
    DatasetList,
    DatasetSummary,
    VersionInfo,
)
from ipulse_service.http.state import AppState

Name = Annotated[str, Path(description="The data set's name.", pattern=NAME_PATTERN)]

router = APIRouter(prefix="/v1/datasets", tags=["data"], route_class=JSONRoute)


@router.get("", summary="List data sets", response_description="A page of data sets.")
def list_datasets(state: State, query: Annotated[PageQuery, Query()]) -> DatasetList:
    """Returns data sets that have a version which is not deleted, newest first."""
    before = None if query.page_token is None else pagination.decode(query.page_token, "datasets")
    with state.database.read() as transaction:
        found = listing.page(transaction, before, query.limit + 1)
        holders = registry.holders(transaction)
        shown = [
            DatasetSummary.from_row(dataset, version_info(transaction, dataset.latest, holders))
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
            name=name, versions=[version_info(transaction, each, holders) for each in found]
        )


@router.delete(
    "/{name}",
    status_code=204,
    summary="Delete a data set",
    response_description="All versions are deleted.",
    responses=problems.documented(404, 409),
)
async def delete_dataset(name: Name, state: State) -> None:
    """Deletes all versions of a data set, or none if a job that is not over needs one."""
    await delete(state, name, None)


async def delete(state: AppState, name: str, number: str | None) -> None:
    """Deletes a version or, without a number, all of them, and their content."""
    for sha256 in await run_in_threadpool(_remove, state, name, number):
        await state.file_threads.run(stored.forget, state.database, state.blobs, sha256)


def _remove(state: AppState, name: str, number: str | None) -> set[str]:
    with state.database.write() as transaction:
        if number is None:
            found = versions.of_dataset(transaction, name)
        else:
            found = [versions.get(transaction, name, number)]
        return removal.remove(transaction, found)


def version_info(
    transaction: Transaction, version: VersionRow, holders: Mapping[str, list[str]]
) -> VersionInfo:
    """Returns the model of a version; `holders` are agents by the digests that they cache."""
    listed = previews.previews(transaction, version)
    jobs = versions.job_count(transaction, version.sha256)
    agents = holders.get(version.sha256, [])
    return VersionInfo.from_row(version, transaction.access, listed, jobs, agents)
