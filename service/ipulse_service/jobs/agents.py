"""Registered agents and their device kinds."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

PRESENT_MS = 90_000  # an agent that has not registered again for longer counts as absent
KNOWN_MS = 7 * 86_400_000  # after this time it is deleted

_KNOWN = select(agents).where(agents.c.seen_at > bindparam("since")).order_by(agents.c.name)


class NoSuchDevice(InvalidInput):
    """No registered agent has the kind of device that the job needs."""

    code = "no_such_device"


@dataclass(frozen=True)
class KnownAgent:
    """A registered agent; `seen_at` is in milliseconds since 1970."""

    name: str
    device_kinds: tuple[str, ...]
    quarantined: tuple[str, ...]  # kinds that it does not use after an error of the device
    seen_at: int


def announce(
    transaction: Transaction,
    name: str,
    device_kinds: tuple[str, ...],
    quarantined: tuple[str, ...] = (),
    version: str = "",
) -> None:
    """Registers an agent, or renews its registration."""
    transaction.lock(f"agent/{name}")
    row = {
        "device_kinds": json.dumps(device_kinds),
        "quarantined": json.dumps(quarantined),
        "version": version,
        "seen_at": transaction.now,
    }
    known_agent = update(agents).where(agents.c.name == name).values(row)
    if transaction.connection.execute(known_agent).rowcount == 0:
        transaction.connection.execute(insert(agents).values(name=name, **row))


def forget_silent(transaction: Transaction) -> None:
    """Deletes agents that did not register in the last week; each start makes a new one."""
    silent = agents.c.seen_at <= transaction.now - KNOWN_MS
    transaction.connection.execute(delete(agents).where(silent))


def known(transaction: Transaction) -> list[KnownAgent]:
    """Returns the agents that registered in the last week."""
    return [
        KnownAgent(
            row.name,
            tuple(json.loads(row.device_kinds)),
            tuple(json.loads(row.quarantined)),
            row.seen_at,
        )
        for row in transaction.connection.execute(_KNOWN, {"since": transaction.now - KNOWN_MS})
    ]


def count_present(transaction: Transaction, device: str) -> int:
    """Counts the agents that use this kind of device now, whether busy or not."""
    return sum(device not in agent.quarantined for agent in _present(transaction, device))


def are_quarantined(transaction: Transaction, device: str) -> bool:
    """Returns whether all present agents with this kind of device have it in quarantine."""
    present = _present(transaction, device)
    return bool(present) and all(device in agent.quarantined for agent in present)


def _present(transaction: Transaction, device: str) -> list[KnownAgent]:
    since = transaction.now - PRESENT_MS
    return [
        agent
        for agent in known(transaction)
        if device in agent.device_kinds and agent.seen_at > since
    ]


def check_satisfiable(transaction: Transaction, device: str) -> None:
    """Raises NoSuchDevice if agents are registered and none of them has this kind of device.

    While none has ever registered, a job may wait for the first.
    """
    kinds = {kind for agent in known(transaction) for kind in agent.device_kinds}
    if kinds and device not in kinds:
        detail = f"the agents of this service have {', '.join(sorted(kinds))}; got {device}"
        raise NoSuchDevice([Problem("/device/kind", "no_such_device", detail)])
