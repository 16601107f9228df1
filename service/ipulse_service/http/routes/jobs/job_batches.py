"""Routes that change all jobs that pass a filter; `job_verbs` has those of verbs without a body."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import Problem
from ipulse_service.db.engine import rfc3339
from ipulse_service.files import stored
from ipulse_service.http import problems
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.routes.jobs.job_list import SelectionQuery
from ipulse_service.http.schemas.jobs.job_list import BatchSummary
from ipulse_service.http.schemas.jobs.job_requests import GroupChange
from ipulse_service.http.state import AppState
from ipulse_service.jobs import batches, deletion
from ipulse_service.jobs.batches import Batch, Change
from ipulse_service.jobs.search.filters import JobFilter

# Of one request; then it returns, and the next one continues. With what was begun it has 8 s.
BUDGET_SECONDS = 7.0


def _check_once(request: Request) -> None:
    """Raises InvalidParameter for a repeated parameter of which only the last would count."""
    repeatable = {"state", "device", "label", "field"}
    query = request.query_params
    repeated = {name for name, _ in query.multi_items() if len(query.getlist(name)) > 1}
    listed = [
        Problem(f"/query/{name}", "repeated", "must be given once")
        for name in sorted(repeated - repeatable)
    ]
    if listed:
        raise InvalidParameter(listed)


class BatchQuery(SelectionQuery):
    """Query parameters that select the jobs to change."""

    dry_run: bool = Field(default=False, description="Change no job; see `changeable`.")
    all: bool = Field(default=False, description="Change every job if there is no filter.")

    def checked_filter(self) -> JobFilter:
        """Returns the filter. Raises InvalidParameter for none, unless all jobs are meant."""
        wanted = self.filter()
        if wanted == JobFilter() and not (self.all or self.dry_run):
            detail = "this would change every job: name a filter, or send all=true"
            raise InvalidParameter([Problem("/query/all", "missing_filter", detail)])
        return wanted


Selection = Annotated[BatchQuery, Query()]

CHECKED: dict[str, Any] = {
    "dependencies": [Depends(_check_once)],
    "responses": problems.documented(422),
}

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute, **CHECKED)


@router.post(
    "/jobs:delete",
    summary="Delete jobs",
    response_description="How many jobs were deleted.",
)
async def delete_jobs(query: Selection, state: State) -> BatchSummary:
    """Deletes all jobs that pass the filters and have ended, with their events and files.

    A request works for a few seconds. If jobs remain, repeat it. Send the `as_of` of a dry
    run as `created_before`, so that no job is changed that was not counted. Files for which
    there was no time are deleted by housekeeping.
    """
    end = time.monotonic() + BUDGET_SECONDS
    result = await change_all(query, state, batches.DELETE)
    left = min(deletion.REQUEST_SECONDS, end - time.monotonic())
    await run_in_threadpool(deletion.try_purge, state.database, seconds=left)
    return result


@router.post(
    "/jobs:edit",
    summary="Change attributes of jobs",
    response_description="How many jobs were changed.",
    responses=problems.documented(413, 415),
)
async def edit_jobs(
    request: GroupChange,
    query: Selection,
    state: State,
    caller: CurrentCaller,
) -> BatchSummary:
    """Changes tags, group and priority of all jobs that pass the filters; see `jobs:cancel`.

    A job for which one of the changes is not possible is left unchanged: the priority of one that
    has ended, and a tag too many.
    """
    edit = batches.edit(request.attributes(), caller.name)
    return await change_all(query, state, edit)


async def change_all(query: BatchQuery, state: AppState, change: Change) -> BatchSummary:
    """Changes the jobs that pass the filters, for a few seconds, and returns how many."""
    end = time.monotonic() + BUDGET_SECONDS
    wanted = query.checked_filter()
    counts = await run_in_threadpool(_count, state, wanted, change)
    total = sum(counts.by_state.values())
    result = BatchSummary(
        dry_run=query.dry_run,
        matched=total,
        by_state=counts.by_state,
        changeable=counts.changeable,
        changed=0,
        unchanged=0,
        remaining=total,
        as_of=rfc3339(counts.as_of),
    )
    if query.dry_run:
        return result
    after: int | None = 0
    while after is not None:  # at least once, so that who repeats it comes to an end
        batch = await run_in_threadpool(_write, state, change, wanted, after, counts.last)
        if batch.digests:
            await state.file_threads.run(_forget_files, state, batch.digests, end)
        result.changed += batch.changed
        result.unchanged += batch.unchanged
        after = batch.last
        if time.monotonic() >= end:
            break
    done = result.changed + result.unchanged
    result.remaining = 0 if after is None else max(1, total - done)
    return result


def _count(state: AppState, wanted: JobFilter, change: Change) -> batches.Counts:
    with state.database.read() as transaction:
        return batches.count(transaction, wanted, change)


def _write(state: AppState, change: Change, wanted: JobFilter, after: int, last: int) -> Batch:
    with state.database.write() as transaction:
        return change.apply(transaction, wanted, after, last)


def _forget_files(state: AppState, digests: Iterable[str], end: float) -> None:
    for sha256 in digests:
        if time.monotonic() >= end:
            return  # housekeeping deletes the rest
        stored.forget(state.database, state.blobs, sha256)
