"""Routes of agents: register, claim a job, renew the lease, report events, finish an attempt."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from ipulse.log_lines import in_parts, length
from ipulse.models import FromObject
from ipulse_core import messages
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_service.agents import drains, joining, registry, sessions
from ipulse_service.files import artifacts
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import (
    KNOWN_AGENT,
    AgentSession,
    AttemptId,
    CurrentCaller,
    Fence,
    State,
    WaitSeconds,
)
from ipulse_service.http.payloads import EventsRoute, JSONRoute
from ipulse_service.http.responses import job_detail
from ipulse_service.http.schemas.jobs import JobDetail
from ipulse_service.http.schemas.joining import OrdersResponse
from ipulse_service.http.schemas.worker import (
    AttemptOrders,
    CheckpointInfo,
    ClaimedAttempt,
    NextEvent,
    RenewedLease,
)
from ipulse_service.http.schemas.worker_requests import (
    AgentRegistration,
    ClaimRequest,
    EventBatch,
    FinishRequest,
    attempt_end,
)
from ipulse_service.http.state import AppState
from ipulse_service.jobs import attempts, leases, store, worker_reports
from ipulse_service.jobs.attempt_end import AttemptFinisher
from ipulse_service.jobs.queue import claims

# Delay of the answer to a waiting agent, so that clients that wait for the same job come first.
GIVE_WAY_SECONDS = 0.02

_BODY_ERRORS = (413, 415, 422)

UserAgent = Annotated[
    str, Header(max_length=64, description=f"`{messages.AGENT_PREFIX}VERSION` of an agent.")
]

router = APIRouter(prefix="/v1/worker", tags=["worker"], route_class=JSONRoute)
events_router = APIRouter(prefix="/v1/worker", tags=["worker"], route_class=EventsRoute)


@router.post(
    "/agents",
    status_code=204,
    summary="Register an agent",
    response_description="The agent is registered.",
    responses={
        200: {"model": OrdersResponse, "description": "It is registered, and there are orders."},
        **problems.documented(409, *_BODY_ERRORS),
    },
    dependencies=KNOWN_AGENT,
)
@open_to("worker")
def register_agent(
    request: AgentRegistration,
    state: State,
    caller: CurrentCaller,
    user_agent: UserAgent = "",
    session: AgentSession = "",
) -> Response:
    """Registers an agent and what it has; agents repeat this to stay registered."""
    caller.check_agent(request.agent)
    version = user_agent.removeprefix(messages.AGENT_PREFIX)
    agent = registry.KnownAgent(
        name=request.agent,
        device_kinds=tuple(request.device_kinds),
        quarantined=tuple(request.quarantined),
        version=version if version != user_agent else "",
        host=request.host,
        ipus=request.ipus,
        data_sets=None if request.data_sets is None else frozenset(request.data_sets),
        fault=request.trouble.fault() if request.trouble else None,
    )
    with state.database.write() as transaction:
        registry.announce(transaction, agent)
        if caller.agent and session:
            sessions.enter(transaction, request.agent, session)
        is_draining = drains.of_agent(transaction, request.agent) is not None
        renews = caller.token_id is not None and joining.replace_tokens(
            transaction, caller.token_id
        )
    if not is_draining and not renews:
        return Response(status_code=204)
    orders = OrdersResponse(draining=is_draining, renew_token=renews)
    return JSONResponse(orders.model_dump())


@router.post(
    "/claims",
    summary="Claim a job",
    response_description="The attempt that the agent now holds.",
    responses=problems.documented(404, 409, *_BODY_ERRORS),
    dependencies=KNOWN_AGENT,
)
@open_to("worker")
def claim_job(
    request: ClaimRequest, state: State, caller: CurrentCaller, session: AgentSession = ""
) -> ClaimedAttempt:
    """Starts the next attempt at a queued job. Of concurrent claims one succeeds.

    The attempt may belong to another job that comes first in the queue of all jobs that this agent
    can run. Without `job_id` it belongs to the first of them.
    """
    if request.job_id is not None:
        log.bind(job=request.job_id)
    caller.check_agent(request.agent)
    lease_seconds = state.settings.lease_seconds
    with state.database.write() as transaction:
        drains.check_may_claim(transaction, request.agent)
        if caller.agent:
            sessions.check(transaction, request.agent, session)
        claim = claims.claim(
            transaction, request.job_id, request.agent, request.device_kinds, lease_seconds
        )
        checkpoint = artifacts.latest_checkpoint(transaction, claim.job)
    log.bind(job=claim.job.id, attempt=claim.attempt.id)
    return ClaimedAttempt(
        job_id=claim.job.id,
        attempt_id=claim.attempt.id,
        attempt=claim.attempt.number,
        fence=claim.fence,
        lease_seconds=lease_seconds,
        heartbeat_seconds=state.settings.heartbeat_seconds,
        spec=json.loads(claim.job.spec),
        checkpoint=None
        if checkpoint is None
        else CheckpointInfo(
            artifact_id=checkpoint.id,
            sha256=checkpoint.sha256,
            size=checkpoint.size,
            name=checkpoint.name,
        ),
    )


@router.post(
    "/attempts/{attempt_id}/heartbeat",
    summary="Renew an attempt's lease",
    response_description="The lease is renewed.",
    responses=problems.documented(404, 409),
)
@open_to("worker")
def renew_lease(attempt_id: AttemptId, fence: Fence, state: State) -> RenewedLease:
    """Renews the lease, and returns whether the agent must stop or give back the job."""
    log.bind(attempt=attempt_id)
    with state.database.write() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        leases.renew(transaction, attempt, state.settings.lease_seconds)
        cancel = attempts.is_to_stop(transaction, attempt)
        drain = drains.of_agent(transaction, attempt.agent)
    return RenewedLease(
        cancel=cancel,
        must_return=drain is not None and drain.must_return,
        lease_seconds=state.settings.lease_seconds,
    )


@router.get(
    "/attempts/{attempt_id}",
    summary="Get an attempt's orders",
    response_description="The orders.",
    responses=problems.documented(404, 409),
)
@open_to("worker")
async def get_orders(
    attempt_id: AttemptId, fence: Fence, state: State, seconds: WaitSeconds
) -> AttemptOrders:
    """Returns whether the agent must stop the job.

    With `Prefer: wait=N` the response waits up to N seconds until it must.
    """
    log.bind(attempt=attempt_id)
    deadline = time.monotonic() + seconds
    job_id, cancel = await run_in_threadpool(_read_orders, state, attempt_id, fence)
    with state.notifier.watch(store.stop_topic(job_id)) as watch:
        while True:
            watch.clear()
            _, cancel = await run_in_threadpool(_read_orders, state, attempt_id, fence)
            left = deadline - time.monotonic()
            if cancel or left <= 0 or state.notifier.stopping:
                return AttemptOrders(cancel=cancel)
            await watch.wait(left)
            await asyncio.sleep(GIVE_WAY_SECONDS)


@events_router.post(
    "/attempts/{attempt_id}/events",
    summary="Report events",
    response_description="The events are stored.",
    responses=problems.documented(404, 409, *_BODY_ERRORS),
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
            attempt = leases.hold(transaction, attempt_id, fence)
            expected = worker_reports.record(transaction, attempt, first, part)
        first += length(part)
    return NextEvent(next=expected)


@events_router.post(
    "/attempts/{attempt_id}/finish",
    summary="Finish an attempt",
    response_description="The job after the attempt.",
    responses=problems.documented(404, 409, *_BODY_ERRORS),
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
    job, job_attempts = await run(finisher.finish, attempt_id, fence, attempt_end(request))
    log.bind(job=job.id)
    return job_detail(response, job, job_attempts)


def _read_orders(state: AppState, attempt_id: str, fence: str) -> tuple[str, bool]:
    """Returns the job's id, and whether it must stop."""
    with state.database.read() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        job = store.get_by_pk(transaction, attempt.job_pk)
        return job.id, attempts.is_to_stop(transaction, attempt)
