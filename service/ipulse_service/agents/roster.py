"""All agents and their devices, and who holds what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Row, select

from ipulse_core.errors import NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents, attempts, jobs
from ipulse_service.jobs import agent_faults
from ipulse_service.jobs.agent_faults import AgentFault
from ipulse_service.jobs.agents import KNOWN_MS, is_present

AgentState = Literal["idle", "busy", "draining", "drained", "offline"]
DeviceState = Literal["free", "busy", "agent_busy", "quarantined", "draining", "offline"]


@dataclass(frozen=True)
class Holding:
    """A job that an agent holds, and since when, in milliseconds since 1970."""

    job_id: str
    attempt_id: str
    device: str
    since: int


@dataclass(frozen=True)
class ListedAgent:
    """An agent as lists show it. Times are milliseconds since 1970."""

    name: str
    state: AgentState
    device_kinds: tuple[str, ...]
    quarantined: tuple[str, ...]
    labels: Mapping[str, str]
    version: str
    host: str
    ipus: Mapping[str, int]
    data_sets: tuple[str, ...] | None
    joined_at: int | None
    seen_at: int
    draining_at: int | None
    drain_until: int | None
    holding: Holding | None
    fault: AgentFault | None  # of its machine, for which it takes no job

    def device_state(self, kind: str) -> DeviceState:
        """Returns the state of its device of a kind."""
        if self.holding is not None and self.holding.device == kind:
            return "busy"
        if self.state == "offline":
            return "offline"
        if kind in self.quarantined:
            return "quarantined"
        if self.draining_at is not None:
            return "draining"
        return "free" if self.holding is None else "agent_busy"


def everyone(transaction: Transaction) -> list[ListedAgent]:
    """Returns the agents that were seen in the last week, in the order of their names."""
    return list(_listed(transaction, None))


def one(transaction: Transaction, name: str) -> ListedAgent:
    """Returns the agent of this name. Raises NotFound."""
    for agent in _listed(transaction, name):
        return agent
    raise NotFound("there is no such agent; `ipulse agent list` shows all")


def _listed(transaction: Transaction, name: str | None) -> Iterator[ListedAgent]:
    query = select(agents).where(agents.c.seen_at > transaction.now - KNOWN_MS)
    holdings = (
        select(
            attempts.c.agent,
            attempts.c.id,
            attempts.c.started_at,
            jobs.c.device,
            jobs.c.id.label("job_id"),
        )
        .join(jobs, jobs.c.pk == attempts.c.job_pk)
        .where(attempts.c.finished_at.is_(None))
    )
    if name is not None:
        query = query.where(agents.c.name == name)
        holdings = holdings.where(attempts.c.agent == name)
    held = {
        row.agent: Holding(row.job_id, row.id, row.device, row.started_at)
        for row in transaction.connection.execute(holdings)
    }
    faults = {found.agent: found for found in agent_faults.present(transaction)}
    for row in transaction.connection.execute(query.order_by(agents.c.name)):
        yield _agent(row, held.get(row.name), faults.get(row.name), transaction.now)


def _agent(
    row: Row[Any], holding: Holding | None, fault: AgentFault | None, now: int
) -> ListedAgent:
    if not is_present(row.seen_at, row.stopped_at is not None, now):
        state: AgentState = "offline"
    elif row.draining_at is not None:
        state = "drained" if holding is None else "draining"
    else:
        state = "idle" if holding is None else "busy"
    return ListedAgent(
        name=row.name,
        state=state,
        device_kinds=tuple(json.loads(row.device_kinds)),
        quarantined=tuple(json.loads(row.quarantined)),
        labels=json.loads(row.labels),
        version=row.version,
        host=row.host,
        ipus=json.loads(row.ipus),
        data_sets=None if row.data_sets is None else tuple(json.loads(row.data_sets)),
        joined_at=row.joined_at,
        seen_at=row.seen_at,
        draining_at=row.draining_at,
        drain_until=row.drain_until,
        holding=holding,
        fault=fault,
    )
