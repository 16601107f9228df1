"""All agents and their devices, and who holds what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select

from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, jobs

AgentState = Literal["idle", "busy", "faulty", "quarantined", "draining", "drained", "offline"]
DeviceState = Literal["free", "busy", "agent_busy", "quarantined", "draining", "offline"]

_HELD = (
    select(
        attempts.c.agent,
        attempts.c.id,
        attempts.c.started_at,
        jobs.c.device,
        jobs.c.id.label("job_id"),
        jobs.c.project,
    )
    .join(jobs, jobs.c.pk == attempts.c.job_pk)
    .where(attempts.c.finished_at.is_(None))
)


@dataclass(frozen=True)
class Holding:
    """A job that an agent holds, and since when, in milliseconds since 1970.

    The ids are None for a job that the caller may not read.
    """

    job_id: str | None
    attempt_id: str | None
    device: str
    since: int


@dataclass(frozen=True)
class ListedAgent:
    """An agent, and the job that it holds."""

    agent: KnownAgent
    is_present: bool
    holding: Holding | None

    @property
    def state(self) -> AgentState:
        """The state of the agent."""
        if not self.is_present:
            return "offline"
        if self.agent.is_draining:
            return "drained" if self.holding is None else "draining"
        if self.holding is not None:
            return "busy"
        if not self.agent.device_kinds:  # it has joined, and not registered yet
            return "offline"
        if self.agent.fault is not None:
            return "faulty"
        return "idle" if self.agent.usable_kinds else "quarantined"

    @property
    def state_reason(self) -> str:
        """Why it takes no job, where its state alone does not say so; else an empty text."""
        agent = self.agent
        if self.is_present and self.state == "offline":
            return "It has joined, and has not registered its devices yet."
        if self.state == "faulty" and agent.fault:
            return f"{agent.fault.reason.value}: {agent.fault.message}"
        if self.state != "quarantined":
            return ""
        kinds = ", ".join(agent.quarantined)
        unknown = f"It does not use {kinds} after an error of the device."
        return " ".join(dict.fromkeys(agent.quarantine_reasons.values())) or unknown

    def device_state(self, kind: str) -> DeviceState:
        """Returns the state of its device of a kind."""
        if self.holding is not None and self.holding.device == kind:
            return "busy"
        if not self.is_present:
            return "offline"
        if kind in self.agent.quarantined:
            return "quarantined"
        if self.agent.is_draining:
            return "draining"
        return "free" if self.holding is None else "agent_busy"


def everyone(transaction: Transaction) -> list[ListedAgent]:
    """Returns the agents that have joined or were seen in the last week, by name."""
    return _listed(transaction, registry.known(transaction))


def one(transaction: Transaction, name: str) -> ListedAgent:
    """Returns the agent of this name. Raises NoSuchAgent."""
    return _listed(transaction, [registry.get(transaction, name)])[0]


def _listed(transaction: Transaction, agents: list[KnownAgent]) -> list[ListedAgent]:
    held = {}
    for row in transaction.connection.execute(_HELD):
        sees = transaction.access.sees(row.project)
        held[row.agent] = Holding(
            row.job_id if sees else None, row.id if sees else None, row.device, row.started_at
        )
    return [
        ListedAgent(agent, agent.is_present(transaction.now), held.get(agent.name))
        for agent in agents
    ]


def holds_any(transaction: Transaction, agent: str) -> bool:
    """Returns whether an agent holds a job now; also after a removal, until its lease expires."""
    query = select(attempts.c.pk).where(attempts.c.agent == agent, attempts.c.finished_at.is_(None))
    return transaction.connection.execute(query).first() is not None
