"""Drains: an agent that drains claims no more jobs, and may have to give back the one it holds."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from ipulse_core.errors import Conflict
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents


class AgentDraining(Conflict):
    """This agent drains: it claims no jobs until it is resumed."""

    code = "agent_draining"


@dataclass(frozen=True)
class Drain:
    """A drain of an agent; `must_stop` says that its present job is to return to the queue."""

    must_stop: bool


def of_agent(transaction: Transaction, name: str) -> Drain | None:
    """Returns the drain of an agent, None if it may claim jobs.

    In a writing transaction a drain that begins meanwhile waits for the end of this transaction.
    """
    query = select(agents.c.draining_at, agents.c.drain_until).where(agents.c.name == name)
    if transaction.is_writing:
        query = query.with_for_update(read=True)
    row = transaction.connection.execute(query).one_or_none()
    if row is None or row.draining_at is None:
        return None
    return Drain(row.drain_until is not None and row.drain_until <= transaction.now)


def check_may_claim(transaction: Transaction, name: str) -> None:
    """Raises AgentDraining while the agent drains."""
    if of_agent(transaction, name) is not None:
        raise AgentDraining()
