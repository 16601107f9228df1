"""Why agents can run no job now: full or failing disks, limits of their machines."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from ipulse_core.states import Reason
from ipulse_core.worker_faults import WorkerFault
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agent_faults
from ipulse_service.jobs.agents import PRESENT_MS


@dataclass(frozen=True)
class AgentFault:
    """The fault of a present agent; times are in milliseconds since 1970."""

    agent: str
    fault: WorkerFault
    since: int
    seen_at: int


def record(transaction: Transaction, agent: str, fault: WorkerFault | None) -> None:
    """Stores why an agent can run no job, or that it can.

    The caller holds the agent's lock, as `agents.announce` takes it.
    """
    is_agent = agent_faults.c.agent == agent
    since = select(agent_faults.c.since).where(is_agent)
    before = transaction.connection.execute(since).scalar_one_or_none()
    if before is not None:
        transaction.connection.execute(delete(agent_faults).where(is_agent))
    if fault is not None:
        row = {
            "agent": agent,
            "reason": fault.reason.value,
            "message": fault.message,
            "since": transaction.now if before is None else before,
            "seen_at": transaction.now,
        }
        transaction.connection.execute(insert(agent_faults).values(row))


def present(transaction: Transaction) -> list[AgentFault]:
    """Returns the faults of agents that are present, by name."""
    query = (
        select(agent_faults)
        .where(agent_faults.c.seen_at > transaction.now - PRESENT_MS)
        .order_by(agent_faults.c.agent)
    )
    return [
        AgentFault(row.agent, WorkerFault(Reason(row.reason), row.message), row.since, row.seen_at)
        for row in transaction.connection.execute(query)
    ]


def forget_silent(transaction: Transaction) -> None:
    """Deletes the faults of agents that are gone."""
    silent = agent_faults.c.seen_at <= transaction.now - PRESENT_MS
    transaction.connection.execute(delete(agent_faults).where(silent))
