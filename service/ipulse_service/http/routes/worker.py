"""The agents' only way in: claim a job, keep it, speak for it, end it."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse.log_lines import in_parts, length
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_service.files import artifacts
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads
from ipulse_service.http import prefer as preferences
from ipulse_service.http.auth import open_to
from ipulse_service.http.payloads import EventsBody, JSONBody
from ipulse_service.http.representations import (
    CheckpointBody,
    ClaimBody,
    HeartbeatBody,
    NextEventBody,
    OrdersBody,
)
from ipulse_service.http.responses import described, job_answer, json_answer
from ipulse_service.http.state import AppState, get_state
from ipulse_service.http.worker_requests import Announcement, ClaimRequest, EventBatch, Finish
from ipulse_service.jobs import agent_versions, agents, attempts, leases, store, worker_reports
from ipulse_service.jobs.attempt_end import finish_attempt

# An agent that asks for orders may be told a little later: whoever waits for the same job's end is
# answered first.
GIVE_WAY_SECONDS = 0.02

AttemptId = Annotated[str, Path()]
Fence = Annotated[str, Header(alias="IPUlse-Fence", max_length=128)]

router = APIRouter(prefix="/v1/worker", tags=["worker"])


@dataclass(frozen=True)
class Orders:
    """What the holder of an attempt is to do about its job."""

    job_id: str
    cancel: bool


@router.post(
    "/agents",
    status_code=204,
    dependencies=agent_versions.KNOWN,
    openapi_extra=payloads.described("Announcement"),
)
@open_to("worker")
def announce(body: JSONBody, request: Request) -> Response:
    """An agent says that it is there and what it can use; now and then, so that it stays known."""
    state = get_state(request)
    said = payloads.parse(Announcement, body)
    with state.database.write() as transaction:
        agents.announce(transaction, said.agent, said.device_kinds, said.quarantined)
    return Response(status_code=204)


@router.post(
    "/claims",
    responses={200: {"model": ClaimBody}},
    dependencies=agent_versions.KNOWN,
    openapi_extra=payloads.described("ClaimRequest"),
)
@open_to("worker")
def claim(body: JSONBody, request: Request) -> Response:
    """Starts the next attempt at a queued job: one of two that ask at once gets it."""
    state = get_state(request)
    wanted = payloads.parse(ClaimRequest, body)
    log.bind(job=wanted.job_id)
    lease_seconds = state.settings.lease_seconds
    with state.database.write() as transaction:
        claimed = leases.claim(
            transaction, wanted.job_id, wanted.agent, wanted.device_kinds, lease_seconds
        )
        checkpoint = artifacts.latest_checkpoint(transaction, claimed.job)
    log.bind(attempt=claimed.attempt.id)
    answer = ClaimBody(
        job_id=claimed.job.id,
        attempt_id=claimed.attempt.id,
        attempt=claimed.attempt.number,
        fence=claimed.fence,
        lease_seconds=lease_seconds,
        heartbeat_seconds=state.settings.heartbeat_seconds,
        spec=json.loads(claimed.job.spec),
        checkpoint=None
        if checkpoint is None
        else CheckpointBody(
            artifact_id=checkpoint.id,
            sha256=checkpoint.sha256,
            size=checkpoint.size,
            name=checkpoint.name,
        ),
    )
    return json_answer(answer)


@router.post("/attempts/{attempt_id}/heartbeat", responses={200: {"model": HeartbeatBody}})
@open_to("worker")
def heartbeat(attempt_id: AttemptId, fence: Fence, request: Request) -> Response:
    """Renews the lease, and says whether the job is to stop."""
    state = get_state(request)
    log.bind(attempt=attempt_id)
    with state.database.write() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        leases.renew(transaction, attempt, state.settings.lease_seconds)
        cancel = attempts.is_to_stop(transaction, attempt)
    return json_answer(HeartbeatBody(cancel=cancel, lease_seconds=state.settings.lease_seconds))


@router.get("/attempts/{attempt_id}", responses={200: {"model": OrdersBody}})
@open_to("worker")
async def orders(
    attempt_id: AttemptId, fence: Fence, request: Request, prefer: Annotated[str, Header()] = ""
) -> Response:
    """Whether the job is to stop; with `Prefer: wait=N` said when it is, or after N seconds."""
    state = get_state(request)
    log.bind(attempt=attempt_id)
    seconds = preferences.wait_seconds(prefer)
    until = time.monotonic() + (seconds or 0)
    found = await run_in_threadpool(_orders, state, attempt_id, fence)
    with state.notifier.watch(store.stop_topic(found.job_id)) as watch:
        while True:
            watch.clear()
            found = await run_in_threadpool(_orders, state, attempt_id, fence)
            left = until - time.monotonic()
            if found.cancel or left <= 0 or state.notifier.stopping:
                break
            await watch.wait(left)
            await asyncio.sleep(GIVE_WAY_SECONDS)
    headers = preferences.applied(seconds)
    return json_answer(OrdersBody(cancel=found.cancel), headers=headers)


@router.post(
    "/attempts/{attempt_id}/events",
    responses={200: {"model": NextEventBody}},
    openapi_extra=payloads.described("EventBatch"),
)
@open_to("worker")
def record(attempt_id: AttemptId, fence: Fence, body: EventsBody, request: Request) -> Response:
    """Stores events once, however often they are sent."""
    state = get_state(request)
    log.bind(attempt=attempt_id)
    batch = payloads.parse(EventBatch, body)
    first = following = batch.first
    # A batch that stops half-way is sent again, and what is there already is passed over.
    for some in in_parts(batch.events, EVENTS_PER_COMMIT) if batch.events else [[]]:
        with state.database.write() as transaction:
            attempt = leases.hold(transaction, attempt_id, fence)
            following = worker_reports.record(transaction, attempt, first, some)
        first += length(some)
    return json_answer(NextEventBody(next=following))


@router.post(
    "/attempts/{attempt_id}/finish",
    responses={200: described("JobBody")},
    openapi_extra=payloads.described("Finish"),
)
@open_to("worker")
async def finish(
    attempt_id: AttemptId, fence: Fence, body: EventsBody, request: Request
) -> Response:
    """Ends the attempt. Its job ends too, or is tried again if only infrastructure was lost.

    Its last events and its manifest may come along: all is kept, or nothing.
    """
    state = get_state(request)
    log.bind(attempt=attempt_id)
    said = await run_in_threadpool(payloads.parse, Finish, body)
    run = run_in_threadpool if said.manifest is None else state.file_threads.run
    job, tried = await run(finish_attempt, state, attempt_id, fence, said)
    log.bind(job=job.id)
    return job_answer(job, tried)


def _orders(state: AppState, attempt_id: str, fence: str) -> Orders:
    with state.database.read() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        job = store.get_by_pk(transaction, attempt.job_pk)
        return Orders(job.id, attempts.is_to_stop(transaction, attempt))
