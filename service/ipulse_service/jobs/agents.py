"""Who takes jobs: agents say from time to time that they are there and what they can use."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

PRESENT_MS = 90_000  # an agent that was silent for longer is not counted on now
KNOWN_MS = 7 * 86_400_000  # one that was silent for longer is forgotten

_KNOWN = select(agents).where(agents.c.seen_at > bindparam("since")).order_by(agents.c.name)


class NoSuchDevice(InvalidInput):
    """No agent that this service knows can use the device that the job asks for."""

    code = "no_such_device"


@dataclass(frozen=True)
class Agent:
    """An agent as it announced itself; `seen_at` is in milliseconds since 1970."""

    name: str
    device_kinds: tuple[str, ...]
    quarantined: tuple[str, ...]  # kinds that it leaves alone after an error of the device
    seen_at: int


def announce(
    transaction: Transaction,
    name: str,
    device_kinds: tuple[str, ...],
    quarantined: tuple[str, ...] = (),
) -> None:
    """An agent says that it is there."""
    transaction.lock(f"agent/{name}")
    transaction.connection.execute(delete(agents).where(agents.c.name == name))
    row = {
        "name": name,
        "device_kinds": json.dumps(device_kinds),
        "quarantined": json.dumps(quarantined),
        "seen_at": transaction.now,
    }
    transaction.connection.execute(insert(agents).values(row))


def forget_silent(transaction: Transaction) -> None:
    """Removes those that were not there in the last week: each start of an agent is a new one."""
    silent = agents.c.seen_at <= transaction.now - KNOWN_MS
    transaction.connection.execute(delete(agents).where(silent))


def known(transaction: Transaction) -> list[Agent]:
    """All that were there in the last week."""
    return [
        Agent(
            row.name,
            tuple(json.loads(row.device_kinds)),
            tuple(json.loads(row.quarantined)),
            row.seen_at,
        )
        for row in transaction.connection.execute(_KNOWN, {"since": transaction.now - KNOWN_MS})
    ]


def count_present(transaction: Transaction, device: str) -> int:
    """How many could take a job for this kind of device now, if they are free."""
    return sum(device not in agent.quarantined for agent in _present(transaction, device))


def are_quarantined(transaction: Transaction, device: str) -> bool:
    """Whether there are agents with this kind of device, and all of them leave it alone."""
    present = _present(transaction, device)
    return bool(present) and all(device in agent.quarantined for agent in present)


def _present(transaction: Transaction, device: str) -> list[Agent]:
    since = transaction.now - PRESENT_MS
    return [
        agent
        for agent in known(transaction)
        if device in agent.device_kinds and agent.seen_at > since
    ]


def check_satisfiable(transaction: Transaction, device: str) -> None:
    """Raises NoSuchDevice when agents are known, and none of them can use this device.

    While none has ever announced itself nobody can tell, and a job may wait for the first.
    """
    kinds = {kind for agent in known(transaction) for kind in agent.device_kinds}
    if kinds and device not in kinds:
        detail = f"the agents of this service have {', '.join(sorted(kinds))}; got {device}"
        raise NoSuchDevice([Problem("/device/kind", "no_such_device", detail)])
