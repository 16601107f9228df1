"""Devices of agents as the API returns them."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from ipulse_service.agents.roster import DeviceState, ListedAgent
from ipulse_service.http.schemas.agents.agents import HELD, HeldJob
from ipulse_service.http.schemas.base import example

_DEVICE = {
    "agent": "worker-1",
    "kind": "ipu",
    "state": "busy",
    "labels": {"site": "b"},
    "pool": "default",
    "holds": HELD,
}


class DeviceInfo(BaseModel):
    """A kind of device of one agent, and the job that uses it."""

    agent: str
    kind: str
    state: DeviceState = Field(
        description="agent_busy: free, but its agent runs a job on another kind of device."
    )
    labels: dict[str, str] = Field(description="Those of the agent.")
    pool: str = Field(description="That of the agent.")
    holds: HeldJob | None

    @classmethod
    def of(cls, listed: ListedAgent) -> list[Self]:
        """Returns the models of an agent's devices."""
        agent = listed.agent
        states = {kind: listed.device_state(kind) for kind in agent.device_kinds}
        return [
            cls(
                agent=agent.name,
                kind=kind,
                state=state,
                labels=dict(agent.labels),
                pool=agent.pool,
                holds=HeldJob.of(listed.holding) if state == "busy" else None,
            )
            for kind, state in states.items()
        ]


class DeviceList(BaseModel):
    """The devices of all agents that have joined or were seen in the last week."""

    model_config = example(devices=[_DEVICE])

    devices: list[DeviceInfo]
