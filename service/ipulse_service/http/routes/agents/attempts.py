"""Routes of an attempt's agent: renew the lease, get orders, report events, finish."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse.log_lines import in_parts, length
from ipulse.models import FromObject
from ipulse_core.errors import NotFound
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_service.agents import drains
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import AttemptId, Fence, State, WaitSeconds
from ipulse_service.http.files import file_response
from ipulse_service.http.payloads import EventsRoute, JSONRoute
from ipulse_service.http.responses import job_detail
from ipulse_service.http.routes.data.ops import OpDigest
from ipulse_service.http.routes.jobs.artifacts import DOWNLOAD
from ipulse_service.http.schemas.agents.worker import AttemptOrders, NextEvent, RenewedLease
from ipulse_service.http.schemas.agents.worker_requests import (
    EventBatch,
    FinishRequest,
    attempt_end,
)
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.state import AppState
from ipulse_service.jobs import finishing, leases, losses, store, worker_reports
from ipulse_service.jobs.attempt_end import AttemptFinisher
from ipulse_service.jobs.finishing import StopOrders
from ipulse_service.jobs.queue import preemption
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.ops import job_ops
from ipulse_service.sweeps import pruning

# Delay of the answer to a waiting agent, so that clients that wait for the same job come first.
GIVE_WAY_SECONDS = 0.02

_PATH = "/v1/worker/attempts/{attempt_id}"
_REPORT_ERRORS = problems.documented(404, 409, 413, 415, 422)

router = APIRouter(prefix=_PATH, tags=["worker"], route_class=JSONRoute)
events_router = APIRouter(prefix=_PATH, tags=["worker"], route_class=EventsRoute)


@router.post(
    "/heartbeat",
    summary="Renew an attempt's lease",
    response_description="The lease is renewed.",
    responses=problems.documented(404, 409),
)
@open_to("worker")
def renew_lease(attempt_id: AttemptId, fence: Fence, state: State) -> RenewedLease:
    """Renews the lease, and returns whether the agent must stop or give back the job."""
    log.bind(attempt=attempt_id)
    with state.database.write() as transaction:
        attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
        leases.renew(transaction, attempt, state.settings.lease_seconds)
        orders = finishing.orders(transaction, attempt)
        drain = drains.of_agent(transaction, attempt.agent)
        must_stop = preemption.must_stop(transaction, attempt)
    return RenewedLease(
        cancel=orders.cancel,
        finish=orders.finish,
        must_return=must_stop or (drain is not None and drain.must_return),
        lease_seconds=state.settings.lease_seconds,
    )


@router.get(
    "",
    summary="Get an attempt's orders",
    response_description="The orders.",
    responses=problems.documented(404, 409),
)
@open_to("worker")
async def get_orders(
    attempt_id: AttemptId, fence: Fence, state: State, seconds: WaitSeconds
) -> AttemptOrders:
    """Returns whether the agent must stop the job, or finish its training now.

    With `Prefer: wait=N` the response waits up to N seconds until it must do either.
    """
    log.bind(attempt=attempt_id)
    deadline = time.monotonic() + seconds
    job_id, orders = await run_in_threadpool(_read_orders, state, attempt_id, fence)
    with state.notifier.watch(store.stop_topic(job_id)) as watch:
        while True:
            watch.clear()
            _, orders = await run_in_threadpool(_read_orders, state, attempt_id, fence)
            left = deadline - time.monotonic()
            if any(orders) or left <= 0 or state.notifier.stopping:
                return AttemptOrders(**orders._asdict())
            await watch.wait(left)
            await asyncio.sleep(GIVE_WAY_SECONDS)


@router.get(
    "/start-file",
    response_class=Response,
    summary="Download the file that a job starts from",
    responses={**DOWNLOAD, **problems.documented(404, 409, 416)},
)
@open_to("worker")
async def download_start_file(
    attempt_id: AttemptId, fence: Fence, state: State, request: Request
) -> Response:
    """Returns the file of another job that the attempt's job starts from, or a range of it."""
    log.bind(attempt=attempt_id)
    artifact = await run_in_threadpool(_start_file, state, attempt_id, fence)
    return await file_response.respond(
        request, artifact, state.blobs, state.file_threads, "attachment", may_redirect=True
    )


@router.get(
    "/ops/{digest}",
    response_class=Response,
    summary="Download a custom op of a job",
    responses={**DOWNLOAD, **problems.documented(404, 409, 416)},
)
@open_to("worker")
async def download_op(
    attempt_id: AttemptId, digest: OpDigest, fence: Fence, state: State, request: Request
) -> Response:
    """Returns the source package of an op that the attempt's job uses, or a range of it."""
    log.bind(attempt=attempt_id)
    artifact = await run_in_threadpool(_op, state, attempt_id, digest, fence)
    return await file_response.respond(
        request, artifact, state.blobs, state.file_threads, "attachment", may_redirect=True
    )


@events_router.post(
    "/events",
    summary="Report events",
    response_description="The events are stored.",
    responses=_REPORT_ERRORS,
)
@open_to("worker")
def report_events(
    attempt_id: AttemptId, fence: Fence, batch: EventBatch, state: State
) -> NextEvent:
    """Stores events. Events that are stored already are skipped: a request may be repeated."""
    log.bind(attempt=attempt_id)
    first = expected = batch.first
    for part in in_parts(batch.events, EVENTS_PER_COMMIT) if batch.events else [[]]:
        with state.database.write() as transaction:
            attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
            expected = worker_reports.record(transaction, attempt, first, part)
            pruning.after_events(transaction, attempt, part, state.settings)
        first += length(part)
    return NextEvent(next=expected)


@events_router.post(
    "/finish",
    summary="Finish an attempt",
    response_description="The job after the attempt.",
    responses=_REPORT_ERRORS,
)
@open_to("worker")
async def finish_attempt(
    attempt_id: AttemptId,
    fence: Fence,
    request: Annotated[FinishRequest, FromObject()],
    state: State,
    response: Response,
) -> JobDetail:
    """Ends an attempt. The job ends too, or is queued again if only infrastructure failed.

    The request may contain the last events and the manifest: all of it is stored, or nothing.
    """
    log.bind(attempt=attempt_id)
    run = run_in_threadpool if request.manifest is None else state.file_threads.run
    finisher = AttemptFinisher(state.database, state.blobs, state.settings)
    view = await run(finisher.finish, attempt_id, fence, attempt_end(request))
    log.bind(job=view.job.id)
    return job_detail(response, state.database.access, view)


def _start_file(state: AppState, attempt_id: str, fence: str) -> ArtifactRow:
    with state.database.read() as transaction:
        attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
        start = StartFile.of(store.get_by_pk(transaction, attempt.job_pk))
    if start is None:
        raise NotFound("the job does not start from another one")
    return start.artifact


def _op(state: AppState, attempt_id: str, digest: str, fence: str) -> ArtifactRow:
    with state.database.read() as transaction:
        attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
        return job_ops.get(transaction, attempt.job_pk, digest).artifact


def _read_orders(state: AppState, attempt_id: str, fence: str) -> tuple[str, StopOrders]:
    """Returns the job's id, and what its agent must do."""
    with state.database.read() as transaction:
        attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
        job = store.get_by_pk(transaction, attempt.job_pk)
        return job.id, finishing.orders(transaction, attempt)
