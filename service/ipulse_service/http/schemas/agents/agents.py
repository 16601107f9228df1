"""Agents and devices as the API returns them."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel, unit
from ipulse_core.capabilities import SANDBOX, Capability
from ipulse_core.states import Reason
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.roster import AgentState, Holding, ListedAgent
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.agents.neuron_packages import (
    PACKAGE_EXAMPLE,
    NeuronPackageInfo,
)
from ipulse_service.http.schemas.base import ATTEMPT_ID, JOB_ID, TROUBLE, Timestamp, example

LONGEST_DRAIN_SECONDS = 30 * 86_400

HELD = {
    "job_id": JOB_ID,
    "attempt_id": ATTEMPT_ID,
    "device": "ipu",
    "since": "2026-01-31T12:00:00.000Z",
}
_AGENT = {
    "name": "worker-1",
    "state": "draining",
    "state_reason": "",
    "device_kinds": ["cpu", "ipu"],
    "quarantined": [],
    "labels": {"site": "b"},
    "pool": "default",
    "version": "0.2.0",
    "host": "worker-1",
    "capabilities": {"compiler": False, "sandbox": "bubblewrap", "disk_bytes": 210_453_397_504},
    "remarks": {"compiler": "install one (Debian: apt-get install g++)"},
    "ipus": {"ipu": 4},
    "data_sets": ["npz/mine", "shd/shd"],
    "joined_at": "2026-01-31T11:00:00.000Z",
    "last_seen": "2026-01-31T12:10:00.000Z",
    "draining_since": "2026-01-31T12:09:00.000Z",
    "drain_until": "2026-01-31T13:00:00.000Z",
    "holds": HELD,
    "sandbox": {"state": "bubblewrap", "message": ""},
    "neuron_packages": [PACKAGE_EXAMPLE],
    "fault": {**TROUBLE, "since": "2026-01-31T12:05:00.000Z"},
}


class HeldJob(BaseModel):
    """A job that an agent holds."""

    job_id: str | None = Field(description="Null for a job that the caller may not read.")
    attempt_id: str | None
    device: str = Field(description="Kind of device that it uses.")
    since: Timestamp | None

    @classmethod
    def of(cls, holding: Holding | None) -> Self | None:
        """Returns the model of a holding, if there is one."""
        if holding is None:
            return None
        return cls(
            job_id=holding.job_id,
            attempt_id=holding.attempt_id,
            device=holding.device,
            since=rfc3339(holding.since),
        )


class AgentFaultInfo(BaseModel):
    """Why an agent takes no job: a fault of its machine."""

    reason: Reason = Field(description="The reason with which an attempt there would end.")
    message: str = Field(description="What is wrong, with the path.")
    since: Timestamp | None = Field(description="When the service first received it.")

    @classmethod
    def of(cls, agent: KnownAgent) -> Self | None:
        """Returns the model of an agent's fault, if there is one."""
        if agent.fault is None:
            return None
        return cls(
            reason=agent.fault.reason,
            message=agent.fault.message,
            since=rfc3339(agent.fault_since),
        )


class SandboxInfo(BaseModel):
    """The sandbox of an agent for code of users."""

    state: str = Field(
        description="The name of its driver, such as bubblewrap: in a sandbox; off: without one, "
        "which its operator chose; missing: it runs no code of users."
    )
    message: str = Field(description="Why it is missing.")

    @classmethod
    def of(cls, agent: KnownAgent) -> Self | None:
        """Returns the model of an agent's sandbox, if it said so."""
        driver = agent.capabilities.get(SANDBOX)
        if driver is None:
            return None
        return cls(state=str(driver or "missing"), message=agent.remarks.get(SANDBOX, ""))


class AgentInfo(BaseModel):
    """An agent, and the job that it holds."""

    model_config = example(**_AGENT)

    name: str
    state: AgentState = Field(
        description="offline: it has stopped, was not seen for 90 s, or has joined and not "
        "started; drained: draining, and it holds no job; faulty: its machine can run no job now; "
        "quarantined: it uses none of its devices now. Only an idle agent takes a job."
    )
    state_reason: str = Field(
        description="Why it takes no job, where its state alone does not say so; else empty."
    )
    device_kinds: list[str] = Field(description="Kinds of devices that it can use.")
    quarantined: list[str] = Field(description="Those that it does not use at present.")
    labels: dict[str, str]
    pool: str = Field(description="The pool that it is in.")
    version: str = Field(description="Its version of IPUlse; empty if it did not say.")
    host: str = Field(description="Its machine; empty if it did not say.")
    capabilities: dict[str, Capability] = Field(
        description="What it has for jobs, where it said so: `compiler`, `kernels`, `sandbox` "
        "(the name of its driver, `off`, or false), `nir`, `h5py`, `scikit-learn`; `cores`, "
        "`memory_bytes`, `disk_bytes` and `inodes` that are free while no job runs, and the totals "
        "of that disk."
    )
    remarks: dict[str, str] = Field(
        description="Why it lacks capabilities, or how they are limited, by name."
    )
    ipus: dict[str, int] = Field(description="Number of IPUs by kind, where it is known.")
    data_sets: list[str] | None = Field(
        description="Data sets in its data directory, as KIND/NAME; null: not known."
    )
    joined_at: Timestamp | None = Field(
        description="When it joined with a token of its own; null if it has the shared one."
    )
    last_seen: Timestamp | None
    draining_since: Timestamp | None = Field(description="Null while it may claim jobs.")
    drain_until: Timestamp | None = Field(
        description="When it gives back a job that it still holds; null: never."
    )
    holds: HeldJob | None
    fault: AgentFaultInfo | None = Field(
        description="Why it takes no job: a full disk or another fault of its machine."
    )
    sandbox: SandboxInfo | None = Field(
        description="The sandbox for code of users; null if it did not say."
    )
    neuron_packages: list[NeuronPackageInfo] = Field(
        description="Packages of neurons that it has, and that the service signed off."
    )

    @classmethod
    def from_row(cls, listed: ListedAgent) -> Self:
        """Returns the model of an agent."""
        agent = listed.agent
        return cls(
            name=agent.name,
            state=listed.state,
            state_reason=listed.state_reason,
            device_kinds=list(agent.device_kinds),
            quarantined=list(agent.quarantined),
            labels=dict(agent.labels),
            pool=agent.pool,
            version=agent.version,
            host=agent.host,
            capabilities=dict(agent.capabilities),
            remarks=dict(agent.remarks),
            ipus=dict(agent.ipus),
            data_sets=None if agent.data_sets is None else sorted(agent.data_sets),
            joined_at=rfc3339(agent.joined_at),
            last_seen=rfc3339(agent.seen_at),
            draining_since=rfc3339(agent.draining_at),
            drain_until=rfc3339(agent.drain_until),
            holds=HeldJob.of(listed.holding),
            fault=AgentFaultInfo.of(agent) if listed.is_present else None,
            sandbox=SandboxInfo.of(agent),
            neuron_packages=[
                NeuronPackageInfo.model_validate(each.to_json()) for each in agent.neuron_packages
            ],
        )


class AgentList(BaseModel):
    """The agents that have joined or were seen in the last week."""

    model_config = example(agents=[_AGENT])

    agents: list[AgentInfo]


class DrainRequest(StrictModel):
    """How an agent drains."""

    model_config = example(seconds=3600)

    seconds: int | None = Field(
        default=None,
        ge=0,
        le=LONGEST_DRAIN_SECONDS,
        description="After this time a job that the agent still holds is stopped: it writes a "
        "checkpoint and returns to the queue. Null: the job may end.",
        json_schema_extra=unit("s"),
    )
