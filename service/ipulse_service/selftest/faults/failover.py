"""Faults of PostgreSQL: a restart, and a failover to the standby."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.testbed import Testbed, milliseconds

ROUNDS = 3
AWAY_SECONDS = 3.0  # longer than the pause between two tries of a client
BETWEEN_SECONDS = 5.0
WORK_SECONDS = 40.0  # limit for a job to start and end on the new server


def restart_database(testbed: Testbed, servers: Servers, random: Random) -> Iterator[FaultOutcome]:
    """Stops the server at once and restarts it; it recovers from its log."""
    return _strike(testbed, random, "PostgreSQL stopped and started", servers.restart)


def fail_over(testbed: Testbed, servers: Servers, random: Random) -> Iterator[FaultOutcome]:
    """Promotes the standby at the same address, and copies a new standby."""
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
    """Raises PromiseBroken if no attempt that starts from now on completes."""
    at = milliseconds()
    while milliseconds() < at + WORK_SECONDS * 1000:
        if any(
            one.reason == "completed" and one.started_at > at for one in testbed.records.tried()
        ):
            time.sleep(BETWEEN_SECONDS)
            return
        time.sleep(0.2)
    raise PromiseBroken(
        f"no job started and ended within {WORK_SECONDS:g} s after the database came back"
    )
