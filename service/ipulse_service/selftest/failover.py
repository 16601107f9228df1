"""A database that goes away on purpose, and another one in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

from ipulse_service.selftest.fault_outcome import Injury
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.split_brain import Broken
from ipulse_service.selftest.testbed import Stand, milliseconds

ROUNDS = 3
AWAY_SECONDS = 3.0  # longer than a client waits between two tries
BETWEEN_SECONDS = 5.0
WORK_SECONDS = 40.0  # in which a job must be begun and ended by the new server


def restart_database(stand: Stand, servers: Servers, random: Random) -> Iterator[Injury]:
    """It is stopped at once, is away for a while, and recovers from its log."""
    return _strike(stand, random, "PostgreSQL stopped and started", servers.restart)


def fail_over(stand: Stand, servers: Servers, random: Random) -> Iterator[Injury]:
    """A standby takes over the address; a new one is copied from it."""
    for injury in _strike(stand, random, "PostgreSQL failed over", servers.fail_over):
        servers.add_standby()
        yield injury


def _strike(
    stand: Stand, random: Random, what: str, away: Callable[[float], None]
) -> Iterator[Injury]:
    for _ in range(ROUNDS):
        at = milliseconds()
        struck = tuple(one.id for one in stand.records.held())
        away(AWAY_SECONDS * random.random())
        _expect_work(stand)
        yield Injury(what, at, struck)


def _expect_work(stand: Stand) -> None:
    """Raises Broken if no attempt that begins from now on is completed."""
    at = milliseconds()
    while milliseconds() < at + WORK_SECONDS * 1000:
        if any(one.reason == "completed" and one.started_at > at for one in stand.records.tried()):
            time.sleep(BETWEEN_SECONDS)
            return
        time.sleep(0.2)
    raise Broken(f"no job was begun and ended in {WORK_SECONDS:g} s after the database came back")
