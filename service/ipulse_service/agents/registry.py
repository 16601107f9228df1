"""The rows of agents: what each has, and whether it is present."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, not_, select, update

from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.spec.neuron_packages import PackageDescription
from ipulse_core.states import Reason
from ipulse_core.worker_faults import WorkerFault
from ipulse_service.agents import pools
from ipulse_service.agents.known_agent import KnownAgent, names
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

KNOWN_MS = 7 * 86_400_000  # after this time one that has not joined is deleted

_SELECT = select(agents)
_IS_KNOWN = (agents.c.seen_at > bindparam("since")) | agents.c.joined_at.is_not(None)
_KNOWN = _SELECT.where(_IS_KNOWN).order_by(agents.c.name)
_BY_NAME = _SELECT.where(agents.c.name == bindparam("of_name"))


class NoSuchAgent(NotFound):
    """There is no such agent; `ipulse agent list` shows all."""


def announce(transaction: Transaction, agent: KnownAgent) -> None:
    """Registers an agent, or renews its registration; its times are those of the transaction.

    Its labels, its drain and when it joined do not change.
    """
    transaction.lock(f"agent/{agent.name}")
    now = transaction.now
    former = find(transaction, agent.name)
    stays = former if former and former.is_present(now) else None
    sets, fault = agent.data_sets, agent.fault
    fault_since = stays.fault_since if stays and stays.fault else now
    row = {
        "device_kinds": json.dumps(agent.device_kinds),
        "quarantined": json.dumps(agent.quarantined),
        "quarantine_reasons": strict_json.dumps(agent.quarantine_reasons),
        "capabilities": _capabilities(agent),
        "version": agent.version,
        "host": agent.host,
        "ipus": strict_json.dumps(agent.ipus),
        "data_sets": None if sets is None else json.dumps(sorted(sets)),
        "cached": json.dumps(sorted(agent.cached)),
        "seen_at": now,
        "stopped_at": None,
        "since": stays.since if stays else now,
        "fault_reason": fault and fault.reason.value,
        "fault_message": fault and fault.message,
        "fault_since": fault_since if fault else None,
    }
    known_agent = update(agents).where(agents.c.name == agent.name).values(row)
    if transaction.connection.execute(known_agent).rowcount == 0:
        transaction.connection.execute(insert(agents).values(name=agent.name, **row))
    _forget_replaced(transaction, agent)


def change(transaction: Transaction, agent: KnownAgent) -> None:
    """Stores what the service found out about what an agent has; its next registration counts."""
    statement = update(agents).where(agents.c.name == agent.name)
    transaction.connection.execute(statement.values(capabilities=_capabilities(agent)))


def sign_off(transaction: Transaction, name: str) -> None:
    """Notes that an agent has stopped: it is absent until it registers again."""
    transaction.lock(f"agent/{name}")
    statement = update(agents).where(agents.c.name == name).values(stopped_at=transaction.now)
    transaction.connection.execute(statement)


def _forget_replaced(transaction: Transaction, agent: KnownAgent) -> None:
    """Deletes absent agents that this one replaces: of its host, without a token of their own.

    One that was started by hand has another name after each start, so it does not come back. One
    that drains is kept: its host may be in maintenance.
    """
    if not agent.host:
        return
    query = _SELECT.where(
        agents.c.host == agent.host,
        agents.c.name != agent.name,
        agents.c.joined_at.is_(None),
        agents.c.draining_at.is_(None),
    )
    for row in transaction.connection.execute(query).all():
        former = _agent(transaction, row)
        kinds = set(former.device_kinds)
        if not former.is_present(transaction.now) and kinds <= set(agent.device_kinds):
            statement = delete(agents).where(
                agents.c.name == former.name, agents.c.seen_at == former.seen_at
            )
            transaction.connection.execute(statement)


def forget_silent(transaction: Transaction) -> None:
    """Deletes agents that did not register in the last week; each start makes a new one.

    One that has joined keeps its name and token: it is known until it leaves or is removed.
    """
    since = transaction.now - KNOWN_MS
    transaction.connection.execute(delete(agents).where(not_(_IS_KNOWN)), {"since": since})


def find(transaction: Transaction, name: str) -> KnownAgent | None:
    """Returns the agent of a name, None if it has never registered."""
    row = transaction.connection.execute(_BY_NAME, {"of_name": name}).one_or_none()
    return None if row is None else _agent(transaction, row)


def get(transaction: Transaction, name: str) -> KnownAgent:
    """Returns the agent of a name. Raises NoSuchAgent."""
    agent = find(transaction, name)
    if agent is None:
        raise NoSuchAgent()
    return agent


def known(transaction: Transaction) -> list[KnownAgent]:
    """Returns the agents that have joined or registered in the last week, by name."""
    rows = transaction.connection.execute(_KNOWN, {"since": transaction.now - KNOWN_MS})
    return [_agent(transaction, row) for row in rows]


def holders(transaction: Transaction) -> dict[str, list[str]]:
    """Returns the names of the present agents that keep an uploaded data set, by its digest."""
    found: dict[str, list[str]] = {}
    for agent in known(transaction):
        if agent.is_present(transaction.now):
            for sha256 in agent.cached:
                found.setdefault(sha256, []).append(agent.name)
    return found


def _capabilities(agent: KnownAgent) -> str:
    found = {
        "has": dict(agent.capabilities),
        "remarks": dict(agent.remarks),
        "neuron_packages": [each.to_json() for each in agent.neuron_packages],
    }
    return strict_json.dumps(found)


def _agent(transaction: Transaction, row: Row[Any]) -> KnownAgent:
    labels = json.loads(row.labels)
    known = json.loads(row.capabilities)
    fault = None
    if row.fault_reason is not None:
        fault = WorkerFault(Reason(row.fault_reason), row.fault_message)
    return KnownAgent(
        name=row.name,
        device_kinds=tuple(json.loads(row.device_kinds)),
        quarantined=tuple(json.loads(row.quarantined)),
        quarantine_reasons=json.loads(row.quarantine_reasons),
        capabilities=known.get("has", {}),
        remarks=known.get("remarks", {}),
        host=row.host,
        ipus=json.loads(row.ipus),
        data_sets=None if row.data_sets is None else names(row.data_sets),
        cached=names(row.cached),
        version=row.version,
        seen_at=row.seen_at,
        since=row.since,
        has_stopped=row.stopped_at is not None,
        fault=fault,
        fault_since=row.fault_since,
        neuron_packages=tuple(map(PackageDescription.from_json, known.get("neuron_packages", ()))),
        labels=labels,
        pool=pools.pool_of(transaction, row.name, labels),
        joined_at=row.joined_at,
        draining_at=row.draining_at,
        drain_until=row.drain_until,
    )
