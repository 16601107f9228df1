"""Drains: an agent that drains claims no more jobs, and may have to give back the one it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update

from ipulse_core.errors import Conflict
from ipulse_service.agents.registry import NoSuchAgent
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

# Notified when an agent gets other orders, and when a job is queued.
TOPIC = "queue"


class AgentDraining(Conflict):
    """This agent drains: it claims no jobs until it is resumed."""

    code = "agent_draining"


@dataclass(frozen=True)
class Drain:
    """A drain of an agent; `must_return` says that its present job is to return to the queue."""

    must_return: bool


def of_agent(transaction: Transaction, name: str, is_locking: bool = False) -> Drain | None:
    """Returns the drain of an agent, None if it may claim jobs.

    With `is_locking` a drain that begins meanwhile waits for the end of this transaction.
    """
    query = select(agents.c.draining_at, agents.c.drain_until).where(agents.c.name == name)
    if is_locking:
        query = query.with_for_update(read=True)
    row = transaction.connection.execute(query).one_or_none()
    if row is None or row.draining_at is None:
        return None
    return Drain(row.drain_until is not None and row.drain_until <= transaction.now)


def check_may_claim(transaction: Transaction, name: str) -> None:
    """Raises AgentDraining while the agent drains."""
    if of_agent(transaction, name, is_locking=True) is not None:
        raise AgentDraining()


def begin(transaction: Transaction, name: str, seconds: int | None) -> None:
    """Drains an agent; after `seconds` it gives back the job that it still holds.

    A drain that has begun keeps its beginning. Raises NoSuchAgent.
    """
    until = None if seconds is None else transaction.now + seconds * 1000
    began = func.coalesce(agents.c.draining_at, transaction.now)
    _change(transaction, name, draining_at=began, drain_until=until)
    transaction.audit("agent.drain", name)


def end(transaction: Transaction, name: str) -> None:
    """Ends a drain: the agent may claim jobs again. Raises NoSuchAgent."""
    _change(transaction, name, draining_at=None, drain_until=None)
    transaction.audit("agent.resume", name)


def _change(transaction: Transaction, name: str, **columns: Any) -> None:
    statement = update(agents).where(agents.c.name == name).values(columns)
    if transaction.connection.execute(statement).rowcount != 1:
        raise NoSuchAgent()
    transaction.topics.add(TOPIC)
