"""A database that goes away on purpose, and another one in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.testbed import Testbed, milliseconds

ROUNDS = 3
AWAY_SECONDS = 3.0  # longer than a client waits between two tries
BETWEEN_SECONDS = 5.0
WORK_SECONDS = 40.0  # in which a job must be begun and ended by the new server


def restart_database(testbed: Testbed, servers: Servers, random: Random) -> Iterator[FaultOutcome]:
    """It is stopped at once, is away for a while, and recovers from its log."""
    return _strike(testbed, random, "PostgreSQL stopped and started", servers.restart)


def fail_over(testbed: Testbed, servers: Servers, random: Random) -> Iterator[FaultOutcome]:
    """A standby takes over the address; a new one is copied from it."""
    for fault in _strike(testbed, random, "PostgreSQL failed over", servers.fail_over):
        servers.add_standby()
        yield fault


def _strike(
    testbed: Testbed, random: Random, what: str, away: Callable[[float], None]
) -> Iterator[FaultOutcome]:
    for _ in range(ROUNDS):
        at = milliseconds()
        struck = tuple(one.id for one in testbed.records.held())
        away(AWAY_SECONDS * random.random())
        _expect_work(testbed)
        yield FaultOutcome(what, at, struck)


def _expect_work(testbed: Testbed) -> None:
    """Raises PromiseBroken if no attempt that begins from now on is completed."""
    at = milliseconds()
    while milliseconds() < at + WORK_SECONDS * 1000:
        if any(
            one.reason == "completed" and one.started_at > at for one in testbed.records.tried()
        ):
            time.sleep(BETWEEN_SECONDS)
            return
        time.sleep(0.2)
    raise PromiseBroken(
        f"no job was begun and ended in {WORK_SECONDS:g} s after the database came back"
    )
