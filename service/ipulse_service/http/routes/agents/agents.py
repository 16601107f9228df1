"""Routes that list agents and devices, and drain, resume and remove agents."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Path

from ipulse_service.agents import drains, joining, roster
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.agents.agents import AgentInfo, AgentList, DrainRequest
from ipulse_service.http.schemas.agents.devices import DeviceInfo, DeviceList

router = APIRouter(prefix="/v1", tags=["agents"], route_class=JSONRoute)
_log = logging.getLogger(__name__)

Name = Annotated[str, Path(max_length=128, description="The agent's name.")]


@router.get("/agents", summary="List agents", response_description="The agents.")
def list_agents(state: State) -> AgentList:
    """Returns the agents that have joined or were seen in the last week, and their jobs."""
    with state.database.read() as transaction:
        everyone = roster.everyone(transaction)
    return AgentList(agents=[AgentInfo.from_row(agent) for agent in everyone])


@router.get(
    "/agents/{name}",
    summary="Get an agent",
    response_description="The agent.",
    responses=problems.documented(404),
)
def get_agent(name: Name, state: State) -> AgentInfo:
    """Returns an agent and the job that it holds."""
    with state.database.read() as transaction:
        return AgentInfo.from_row(roster.one(transaction, name))


@router.get("/devices", summary="List devices", response_description="The devices.")
def list_devices(state: State) -> DeviceList:
    """Returns the devices of all agents, and the jobs that use them."""
    with state.database.read() as transaction:
        everyone = roster.everyone(transaction)
    return DeviceList(devices=[device for agent in everyone for device in DeviceInfo.of(agent)])


@router.post(
    "/agents/{name}:drain",
    summary="Drain an agent",
    response_description="The agent, which claims no jobs from now on.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner")
def drain_agent(name: Name, request: DrainRequest, state: State) -> AgentInfo:
    """Keeps jobs away from an agent until it is resumed; it stays drained when it restarts."""
    with state.database.write() as transaction:
        drains.begin(transaction, name, request.seconds)
        agent = roster.one(transaction, name)
    _log.info("agent_drained", extra={"agent": name, "seconds": request.seconds})
    return AgentInfo.from_row(agent)


@router.post(
    "/agents/{name}:resume",
    summary="Resume an agent",
    response_description="The agent, which may claim jobs again.",
    responses=problems.documented(404),
)
@open_to("owner")
def resume_agent(name: Name, state: State) -> AgentInfo:
    """Ends the drain of an agent."""
    with state.database.write() as transaction:
        drains.end(transaction, name)
        agent = roster.one(transaction, name)
    _log.info("agent_resumed", extra={"agent": name})
    return AgentInfo.from_row(agent)


@router.delete(
    "/agents/{name}",
    status_code=204,
    summary="Remove an agent",
    response_description="The agent is removed, and its own token is not valid any more.",
    responses=problems.documented(404, 409),
)
@open_to("owner")
def remove_agent(name: Name, state: State) -> None:
    """Removes an agent. A job that it holds is queued again when its lease expires.

    A present agent with the token that agents share is refused: it would register again.
    """
    with state.database.write() as transaction:
        joining.remove(transaction, name)
    _log.info("agent_removed", extra={"agent": name})
