"""Routes of agents: join, renew the token, wait for work, sign off, leave."""

from __future__ import annotations

import logging
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotAuthenticated, NotPermitted
from ipulse_service.agents import hints, joining, registry, sessions
from ipulse_service.agents.hints import WorkHint
from ipulse_service.http import etags, problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import (
    KNOWN_AGENT,
    AgentSession,
    CurrentCaller,
    IfNoneMatch,
    State,
    wait_up_to,
)
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.agents.joining import (
    AgentToken,
    JoinRequest,
    SignOffRequest,
    WakeUpHint,
)
from ipulse_service.http.schemas.agents.worker_requests import AgentName, DeviceKind
from ipulse_service.http.state import AppState

MAX_WAIT_SECONDS = 50  # of a request for a wake-up; shorter than the time limits of most proxies

router = APIRouter(prefix="/v1/worker", tags=["worker"], route_class=JSONRoute)
_log = logging.getLogger(__name__)

Wait = Annotated[int, Depends(wait_up_to(MAX_WAIT_SECONDS))]
Kinds = Annotated[
    list[DeviceKind],
    Query(alias="kind", max_length=16, description="A kind of device that the agent can use now."),
]


@router.post(
    "/join",
    status_code=201,
    summary="Join with an agent",
    response_description="The agent has joined; its token is valid from now on.",
    responses=problems.documented(409, 413, 415, 422),
    dependencies=KNOWN_AGENT,
)
@open_to("join")
def join(request: JoinRequest, state: State, caller: CurrentCaller) -> AgentToken:
    """Exchanges a join token, sent as the bearer token, for a token of the agent's own.

    The same machine may repeat the request if its response was lost.
    """
    assert caller.token_id is not None  # noqa: S101 - every join token has an id
    with state.database.write() as transaction:
        joined = joining.join(
            transaction, caller.token_id, request.name, request.instance, request.replace
        )
    _log.info("agent_joined", extra={"agent": request.name, "join_token": caller.token_id})
    return AgentToken.of(joined)


@router.post(
    "/token",
    status_code=201,
    summary="Renew an agent's token",
    response_description="Another token; the former one is valid until this one is used.",
)
@open_to("worker")
def renew_agent_token(state: State, caller: CurrentCaller) -> AgentToken:
    """Issues another token to the agent that this token belongs to."""
    with state.database.write() as transaction:
        return AgentToken.of(joining.renew(transaction, _own_name(caller)))


@router.post(
    "/leave",
    status_code=204,
    summary="Leave with an agent",
    response_description="The agent is forgotten and its token is not valid any more.",
)
@open_to("worker")
def leave(state: State, caller: CurrentCaller) -> None:
    """Removes the agent that this token belongs to. Its job is queued when the lease expires."""
    name = _own_name(caller)
    with state.database.write() as transaction:
        joining.leave(transaction, name)
    _log.info("agent_left", extra={"agent": name})


@router.post(
    "/sign-off",
    status_code=204,
    summary="Sign off with an agent",
    response_description="The agent is offline until it registers again.",
    responses=problems.documented(409, 413, 415, 422),
    dependencies=KNOWN_AGENT,
)
@open_to("worker")
def sign_off(
    request: SignOffRequest, state: State, caller: CurrentCaller, session: AgentSession = ""
) -> None:
    """Notes that an agent stops, so that nobody waits for it; its token stays valid."""
    caller.check_agent(request.agent)
    with state.database.write() as transaction:
        sessions.check(transaction, request.agent, session)
        registry.sign_off(transaction, request.agent)


@router.get(
    "/wakeups",
    summary="Wait for work",
    response_model=WakeUpHint,
    response_description="What the agent may do now.",
    responses={
        304: {"description": "Nothing has changed since the ETag of If-None-Match."},
        **problems.documented(409),
    },
    dependencies=KNOWN_AGENT,
)
@open_to("worker")
async def get_wake_up(
    agent: Annotated[AgentName, Query()],
    state: State,
    caller: CurrentCaller,
    seconds: Wait,
    response: Response,
    session: AgentSession = "",
    kinds: Kinds = [],  # noqa: B006 - FastAPI copies it
    if_none_match: IfNoneMatch = None,
) -> WakeUpHint | Response:
    """Returns whether there is a job that the agent could claim; a claim decides.

    With `Prefer: wait=N` and If-None-Match the response waits until something has changed, at most
    N seconds.
    """
    caller.check_agent(agent)
    deadline = time.monotonic() + seconds
    with state.notifier.watch(hints.TOPIC) as watch:
        while True:
            watch.clear()
            hint = await run_in_threadpool(_read_hint, state, caller, agent, kinds, session)
            response.headers["etag"] = etags.quoted(hint.tag)
            if not etags.matches(if_none_match, hint.tag):
                return WakeUpHint(job_id=hint.job_id, draining=hint.draining)
            left = deadline - time.monotonic()
            if left <= 0 or state.notifier.stopping:
                return Response(status_code=304, headers=dict(response.headers))
            await watch.wait(left)


def _read_hint(
    state: AppState, caller: Caller, agent: str, kinds: list[str], session: str
) -> WorkHint:
    with state.database.read() as transaction:
        if not caller.is_known(transaction):
            raise NotAuthenticated("this token has expired or was revoked")
        sessions.check(transaction, agent, session)
        return hints.for_agent(transaction, agent, kinds)


def _own_name(caller: Caller) -> str:
    if caller.agent is None or caller.access.is_local:
        raise NotPermitted("this needs the token of an agent that has joined")
    return caller.agent
