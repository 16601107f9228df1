"""Routes of one job: read, cancel, finish, pause, resume, retry and delete it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

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
from ipulse_service.http.retrying import retry_by
from ipulse_service.http.schemas.jobs.job_requests import JobChange
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.state import AppState
from ipulse_service.jobs import attempts, attributes, deletion, finishing, leases, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting

_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The job still has the ETag of If-None-Match."}
}
_CHANGE_ERRORS = problems.documented(404, 409, 412)
_CHANGE: dict[str, Any] = {"response_description": "The job.", "responses": _CHANGE_ERRORS}
_RETRY = {**_CHANGE, "responses": {**_CHANGE_ERRORS, **problems.documented(422)}}

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute)


class _View(NamedTuple):
    """A job and what a response says about it, read in one transaction."""

    job: JobRow
    attempts: Sequence[AttemptRow]
    waiting: Waiting | None


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
        with self.state.database.write() as transaction:
            job = store.get(transaction, self.job_id)
            etags.require(self.if_match, job.tag)
            change(transaction, job)
        return job_detail(self.response, *_read(self.state, self.job_id))


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
        view = await _wait(state, job_id, if_none_match, seconds)
    else:
        view = await run_in_threadpool(_read, state, job_id, if_none_match)
    etags.require(if_match, view.job.tag)
    if etags.matches(if_none_match, view.job.tag):
        response.headers["etag"] = etags.quoted(view.job.tag)
        return Response(status_code=304, headers=response.headers)
    return job_detail(response, *view)


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job", **_CHANGE)
def cancel_job(changer: Changer) -> JobDetail:
    """Asks a job to stop. A second request, or one after the job's end, changes nothing."""
    return changer.apply(attempts.cancel)


@router.post("/jobs/{job_id}/finish", summary="Finish a job now", **_CHANGE)
def finish_job(changer: Changer) -> JobDetail:
    """Ends the training after its present step, evaluates it and stores all results.

    The job then is succeeded with the reason `finished_early`. It is cancelled if that takes
    longer than IPULSE_FINISH_SECONDS. A second request, or one after the job's end, changes
    nothing; 409 for a job that no agent holds.
    """
    return changer.apply(partial(finishing.finish, settings=changer.state.settings))


@router.post("/jobs/{job_id}/pause", summary="Pause a job", **_CHANGE)
def pause_job(changer: Changer) -> JobDetail:
    """Pauses a job; one that runs stops at its next checkpoint. It loses its queue position."""
    return changer.apply(attempts.pause)


@router.post("/jobs/{job_id}/resume", summary="Resume a job", **_CHANGE)
def resume_job(changer: Changer) -> JobDetail:
    """Queues a paused job again. It continues from its last checkpoint."""
    return changer.apply(attempts.resume)


@router.post("/jobs/{job_id}/retry", summary="Retry a job", **_RETRY)
def retry_job(changer: Changer, caller: CurrentCaller) -> JobDetail:
    """Queues a failed job again under its id. It resumes from its last checkpoint, if it has one.

    Its events continue, and lost attempts and limits of time count anew. Jobs that were cancelled
    only because of its failure are blocked again, and its trial of a sweep runs again. A job that
    has not ended does not change; 409 for one that succeeded or was cancelled, and 422 if no agent
    can run it any more. A job with code needs a token with the flag `submit_code`; without it, jobs
    with code that waited for this one stay cancelled, and its `message` names them.
    """
    return changer.apply(retry_by(caller))


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


async def _wait(state: AppState, job_id: str, known: str | None, seconds: float) -> _View:
    """Returns the job after a change, or when the time is over."""
    deadline = time.monotonic() + seconds
    # A request for the job's end need not wake up for each of its events.
    topic = store.stop_topic(job_id) if known is None else job_id
    with state.notifier.watch(topic) as watch:
        while True:
            watch.clear()
            view = await run_in_threadpool(_read, state, job_id, known)
            left = deadline - time.monotonic()
            if _has_changed(view.job, known) or left <= 0 or state.notifier.stopping:
                return view
            await watch.wait(left)


def _has_changed(job: JobRow, known: str | None) -> bool:
    if job.state.is_terminal:
        return True
    return known is not None and not etags.matches(known, job.tag)


def _delete(state: AppState, job_id: str, if_match: str | None) -> set[str]:
    with state.database.write() as transaction:
        job = store.get(transaction, job_id)
        etags.require(if_match, job.tag)
        return deletion.delete_job(transaction, job)


def _read(state: AppState, job_id: str, known: str | None = None) -> _View:
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        if etags.matches(known, job.tag):
            return _View(job, (), None)  # the response has no body
        tried = leases.of_job(transaction, job.pk)
        return _View(job, tried, state.queue_view.waiting(transaction, [job]).get(job.pk))
