"""Routes of agents: register and claim a job."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from ipulse_core import messages
from ipulse_core.registry.versions import NEWEST, VERSIONS, raise_to_2
from ipulse_core.spec.upgrade import without_names
from ipulse_service.agents import drains, joining, neuron_packages, registry, sessions
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import (
    KNOWN_AGENT,
    AgentSession,
    CurrentCaller,
    Protocol,
    State,
)
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.agents.joining import OrdersResponse
from ipulse_service.http.schemas.agents.registration import AgentRegistration
from ipulse_service.http.schemas.agents.worker import (
    CheckpointInfo,
    ClaimedAttempt,
    OpFileInfo,
    StartFileInfo,
)
from ipulse_service.http.schemas.agents.worker_requests import ClaimRequest
from ipulse_service.jobs import artifacts, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import claims
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.ops import job_ops

_BODY_ERRORS = (413, 415, 422)

UserAgent = Annotated[
    str, Header(max_length=64, description=f"`{messages.AGENT_PREFIX}VERSION` of an agent.")
]

router = APIRouter(prefix="/v1/worker", tags=["worker"], route_class=JSONRoute)


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
    agent = request.known_agent(version if version != user_agent else "")
    signed_off = neuron_packages.signed_off(agent.neuron_packages, state.settings.neuron_packages)
    agent = replace(agent, neuron_packages=signed_off)
    with state.database.write() as transaction:
        registry.announce(transaction, agent)
        if session:
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
    request: ClaimRequest,
    state: State,
    caller: CurrentCaller,
    session: AgentSession = "",
    protocol: Protocol = 1,
) -> ClaimedAttempt:
    """Starts the next attempt at a queued job. Of concurrent claims one succeeds.

    A request with the same `fence` gets the same attempt, so that it may be repeated.

    The attempt may belong to another job that comes first in the queue of all jobs that this agent
    can run. Without `job_id` it belongs to the first of them.
    """
    if request.job_id is not None:
        log.bind(wake_up=request.job_id)
    caller.check_agent(request.agent)
    lease_seconds = state.settings.lease_seconds
    version = request.spec_version
    if version is None:
        known = " and ".join(map(str, VERSIONS))
        raise claims.NotClaimable(f"the agent runs none of the versions of specs here: {known}")
    with state.database.write() as transaction:
        drains.check_may_claim(transaction, request.agent)
        sessions.check(transaction, request.agent, session)
        claim = claims.claim(
            transaction,
            request.job_id,
            request.agent,
            request.device_kinds,
            lease_seconds,
            protocol,
            request.fence or "",
        )
        spec = store.spec_of(transaction, claim.job)
        checkpoint = artifacts.latest_checkpoint(transaction, claim.job)
        has_code = claim.job.needs.has_code
        used = job_ops.of_job(transaction, claim.job.pk) if has_code else []
    log.bind(job=claim.job.id, attempt=claim.attempt.id)
    return ClaimedAttempt(
        job_id=claim.job.id,
        attempt_id=claim.attempt.id,
        attempt=claim.attempt.number,
        fence=claim.fence,
        lease_seconds=lease_seconds,
        heartbeat_seconds=state.settings.heartbeat_seconds,
        spec=_spec_in(version, json.loads(spec)),
        checkpoint=None
        if checkpoint is None
        else CheckpointInfo(
            artifact_id=checkpoint.id,
            sha256=checkpoint.sha256,
            size=checkpoint.size,
            name=checkpoint.name,
        ),
        start_from=_start_file(claim.job),
        ops=[OpFileInfo(**op._asdict()) for op in used],
    )


def _spec_in(version: int, document: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored spec in a version; agents that know only version 1 know no layers' names."""
    found: dict[str, Any] = raise_to_2(document) if version == NEWEST else without_names(document)
    return found


def _start_file(job: JobRow) -> StartFileInfo | None:
    start = StartFile.of(job)
    if start is None:
        return None
    return StartFileInfo(mode=start.mode, sha256=start.sha256, size=start.size, name=start.name)
