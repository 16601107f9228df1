"""Look at one job, and have it stop, wait, go on or go."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.http import etags
from ipulse_service.http import log_context as log
from ipulse_service.http import prefer as preferences
from ipulse_service.http.responses import described, job_answer
from ipulse_service.http.state import AppState, get_state
from ipulse_service.jobs import attempts, deletion, leases, store, waiting
from ipulse_service.jobs.job import Job

IfMatch = Annotated[str | None, Header()]

_NONE: Mapping[str, str] = MappingProxyType({})

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get("/jobs/{job_id}", responses={200: described("JobBody"), 304: {}})
async def get_job(
    job_id: str,
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
    prefer: Annotated[str, Header()] = "",
) -> Response:
    """One job. With `Prefer: wait=N` the answer waits, up to 30 s, until there is news.

    News is any other version than that of If-None-Match; without that header, the job's end.
    """
    state = get_state(request)
    log.bind(job=job_id)
    seconds = preferences.wait_seconds(prefer)
    headers = preferences.applied(seconds)
    if seconds:
        return await _wait(state, job_id, if_none_match, headers, seconds)
    return await run_in_threadpool(_show, state, job_id, if_none_match, headers)


@router.post("/jobs/{job_id}/cancel", responses={200: described("JobBody")})
def cancel(job_id: str, request: Request, if_match: IfMatch = None) -> Response:
    """Asks a job to stop. Asking twice, or after its end, changes nothing."""
    state = get_state(request)
    return _change(state, job_id, if_match, attempts.cancel)


@router.post("/jobs/{job_id}/pause", responses={200: described("JobBody")})
def pause(job_id: str, request: Request, if_match: IfMatch = None) -> Response:
    """Stops a job for now, at a checkpoint if it has begun. It keeps its place in no queue."""
    state = get_state(request)
    return _change(state, job_id, if_match, attempts.pause)


@router.post("/jobs/{job_id}/resume", responses={200: described("JobBody")})
def resume(job_id: str, request: Request, if_match: IfMatch = None) -> Response:
    """Queues a paused job again; it goes on from its last checkpoint."""
    state = get_state(request)
    return _change(state, job_id, if_match, attempts.resume)


@router.delete("/jobs/{job_id}", status_code=204)
async def delete(job_id: str, request: Request, if_match: IfMatch = None) -> Response:
    """Removes a job that has ended: its events, its files, and its idempotency key."""
    state = get_state(request)
    log.bind(job=job_id)
    for sha256 in await run_in_threadpool(_delete, state, job_id, if_match):
        await state.file_threads.run(artifacts.forget, state.database, state.blobs, sha256)
    return Response(status_code=204)


async def _wait(
    state: AppState, job_id: str, known: str | None, headers: Mapping[str, str], seconds: float
) -> Response:
    """The answer when there is news of a job, or it is time."""
    until = time.monotonic() + seconds
    # Who asks for the end need not be woken by whatever a job says until then.
    topic = store.stop_topic(job_id) if known is None else job_id
    with state.notifier.watch(topic) as watch:
        while True:
            watch.clear()
            news = await run_in_threadpool(_show_news, state, job_id, known, headers)
            if news:
                return news
            left = until - time.monotonic()
            if left <= 0 or state.notifier.stopping:
                return await run_in_threadpool(_show, state, job_id, known, headers)
            await watch.wait(left)


def _is_news(job: Job, known: str | None) -> bool:
    if known is None:
        return job.state.is_terminal
    return not etags.matches(known, job.tag) or job.state.is_terminal


def _change(
    state: AppState, job_id: str, if_match: str | None, change: Callable[[Transaction, Job], Job]
) -> Response:
    log.bind(job=job_id)
    with state.database.write() as transaction:
        job = store.get(transaction, job_id)
        etags.require(if_match, job.tag)
        change(transaction, job)
    return _show(state, job_id)


def _delete(state: AppState, job_id: str, if_match: str | None) -> set[str]:
    with state.database.write() as transaction:
        job = store.get(transaction, job_id)
        etags.require(if_match, job.tag)
        return deletion.delete_job(transaction, job)


def _show_news(
    state: AppState, job_id: str, known: str | None, headers: Mapping[str, str]
) -> Response | None:
    """None where there is no news. What an answer holds is read together with the news."""
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        return _shown(transaction, job, known, headers) if _is_news(job, known) else None


def _show(
    state: AppState, job_id: str, known: str | None = None, headers: Mapping[str, str] = _NONE
) -> Response:
    with state.database.read() as transaction:
        return _shown(transaction, store.get(transaction, job_id), known, headers)


def _shown(
    transaction: Transaction, job: Job, known: str | None, headers: Mapping[str, str]
) -> Response:
    if etags.matches(known, job.tag):
        return Response(status_code=304, headers={"etag": etags.quoted(job.tag), **headers})
    tried = leases.of_job(transaction, job.pk)
    return job_answer(job, tried, waiting.of_job(transaction, job), headers=headers)
