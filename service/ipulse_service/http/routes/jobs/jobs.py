"""Routes of one job: read, change and delete it; `job_verbs` has those of its verbs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from starlette.concurrency import run_in_threadpool

from ipulse_service.db.engine import Transaction
from ipulse_service.files import stored
from ipulse_service.http import etags, problems
from ipulse_service.http import log_context as log
from ipulse_service.http.dependencies import (
    CurrentCaller,
    IfMatch,
    IfNoneMatch,
    IfStillMatch,
    JobId,
    State,
    WaitSeconds,
)
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.responses import job_detail
from ipulse_service.http.schemas.jobs.job_requests import JobChange
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.state import AppState
from ipulse_service.jobs import attributes, deletion, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_view import JobView
from ipulse_service.jobs.permissions import entity_tag

_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The job still has the ETag of If-None-Match."}
}
_CHANGE_ERRORS = problems.documented(404, 409, 412)
CHANGE: dict[str, Any] = {"response_description": "The job.", "responses": _CHANGE_ERRORS}

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute)


@dataclass(frozen=True)
class JobChanger:
    """A request that changes a job."""

    state: AppState
    job_id: str
    if_match: str | None
    response: Response

    def apply(self, change: Callable[[Transaction, JobRow], JobRow]) -> JobDetail:
        """Changes the job if it still has the ETag of If-Match, and returns it."""
        log.bind(job=self.job_id)
        access = self.state.database.access
        with self.state.database.write() as transaction:
            job = store.get_to_change(transaction, self.job_id)
            etags.require(self.if_match, entity_tag(access, job))
            change(transaction, job)
        with self.state.database.read() as transaction:
            view = _view(self.state, transaction, store.get(transaction, self.job_id))
        return job_detail(self.response, access, view)


async def _changer(
    job_id: JobId, state: State, response: Response, if_match: IfMatch = None
) -> JobChanger:
    return JobChanger(state, job_id, if_match, response)


Changer = Annotated[JobChanger, Depends(_changer)]


@router.get(
    "/jobs/{job_id}",
    response_model=JobDetail,
    summary="Get a job",
    response_description="The job.",
    responses={**_NOT_MODIFIED, **problems.documented(404, 412)},
)
async def get_job(
    job_id: JobId,
    state: State,
    seconds: WaitSeconds,
    response: Response,
    if_match: IfStillMatch = None,
    if_none_match: IfNoneMatch = None,
) -> JobDetail | Response:
    """Returns a job.

    With `Prefer: wait=N` the response waits up to N seconds, at most 30, for a change: until the
    ETag differs from If-None-Match, or without that header until the job has ended.
    """
    log.bind(job=job_id)
    if seconds:
        job, view = await _wait(state, job_id, if_none_match, seconds)
    else:
        job, view = await run_in_threadpool(_read, state, job_id, if_none_match)
    tag = entity_tag(state.database.access, job)
    etags.require(if_match, tag)
    if view is None:
        response.headers["etag"] = etags.quoted(tag)
        return Response(status_code=304, headers=response.headers)
    return job_detail(response, state.database.access, view)


@router.patch(
    "/jobs/{job_id}",
    summary="Change a job's attributes",
    response_description="The job.",
    responses={**_CHANGE_ERRORS, **problems.documented(413, 415, 422)},
)
def change_job(request: JobChange, caller: CurrentCaller, changer: Changer) -> JobDetail:
    """Changes name, notes, tags, group and priority of a job: all that is given, or nothing.

    The priority of a job that has ended cannot be changed. A job's log says who changed it.
    """
    changes = request.attributes()
    return changer.apply(partial(attributes.change, changes=changes, changed_by=caller.name))


@router.delete(
    "/jobs/{job_id}",
    status_code=204,
    summary="Delete a job",
    response_description="The job is deleted.",
    responses=_CHANGE_ERRORS,
)
async def delete_job(job_id: JobId, state: State, if_match: IfMatch = None) -> None:
    """Deletes a job that has ended, with its events, its files and its idempotency key."""
    log.bind(job=job_id)
    for sha256 in await run_in_threadpool(_delete, state, job_id, if_match):
        await state.file_threads.run(stored.forget, state.database, state.blobs, sha256)
    await run_in_threadpool(deletion.try_purge, state.database)


async def _wait(
    state: AppState, job_id: str, known: str | None, seconds: float
) -> tuple[JobRow, JobView | None]:
    """Returns the job after a change, or when the time is over."""
    deadline = time.monotonic() + seconds
    # A request for the job's end need not wake up for each of its events.
    topic = store.stop_topic(job_id) if known is None else job_id
    with state.notifier.watch(topic) as watch:
        while True:
            watch.clear()
            job, view = await run_in_threadpool(_read, state, job_id, known)
            left = deadline - time.monotonic()
            if _has_changed(state, job, known) or left <= 0 or state.notifier.stopping:
                return job, view
            await watch.wait(left)


def _has_changed(state: AppState, job: JobRow, known: str | None) -> bool:
    if job.state.is_terminal:
        return True
    return known is not None and not etags.matches(known, entity_tag(state.database.access, job))


def _delete(state: AppState, job_id: str, if_match: str | None) -> set[str]:
    with state.database.write() as transaction:
        job = store.get_to_change(transaction, job_id)
        etags.require(if_match, entity_tag(state.database.access, job))
        return deletion.delete_job(transaction, job)


def _read(state: AppState, job_id: str, known: str | None) -> tuple[JobRow, JobView | None]:
    """Returns the job, and its view unless its ETag is known: that response has no body."""
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        is_known = etags.matches(known, entity_tag(state.database.access, job))
        return job, None if is_known else _view(state, transaction, job)


def _view(state: AppState, transaction: Transaction, job: JobRow) -> JobView:
    waiting = state.queue_view.waiting(transaction, [job]).get(job.pk)
    return JobView.read(transaction, job, waiting)
