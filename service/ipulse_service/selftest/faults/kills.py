"""SIGKILL to any process at any time; several may be down at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from random import Random

from ipulse_service.selftest.fault_outcome import FaultOutcome
from ipulse_service.selftest.records import Held
from ipulse_service.selftest.testbed import Testbed, milliseconds
from ipulse_service.settings import Settings

# A job that has lost so many attempts in a row is spared: with the limit that users have, it would
# rightly fail if its next attempts were killed, too, before a checkpoint.
SPARED_LOSSES = Settings.model_fields["max_attempts"].default // 2

Kill = Callable[[Testbed, Random], FaultOutcome | None]  # None: nothing to kill now


def kill_runner(testbed: Testbed, random: Random) -> FaultOutcome | None:
    """Kills the runner of a running attempt in any phase."""
    held = [one for one in testbed.records.held() if one.losses < SPARED_LOSSES]
    if not held:
        return None
    one = random.choice(held)
    pid = testbed.runner_of(one.id)
    if pid is None:
        return None
    at = milliseconds()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended
        return None
    return _aimed("kill runner", at, [one])


def kill_agent(testbed: Testbed, random: Random) -> FaultOutcome | None:
    """Kills an agent, with or without a job."""
    up = [name for name in testbed.up() if name in testbed.agents]
    if not up:
        return None
    name = random.choice(up)
    at = milliseconds()
    held = testbed.held_by(name)
    if any(one.losses >= SPARED_LOSSES for one in held):
        return None
    testbed.kill(name)
    return _aimed("kill agent", at, held)


def kill_service(testbed: Testbed, random: Random) -> FaultOutcome | None:
    """Kills the service."""
    return _kill(testbed, "service", "kill service")


def kill_redis(testbed: Testbed, random: Random) -> FaultOutcome | None:
    """Kills Redis, which keeps its data."""
    return _kill(testbed, "redis", "kill Redis")


def empty_redis(testbed: Testbed, random: Random) -> FaultOutcome | None:
    """Kills Redis and deletes its data."""
    return _kill(testbed, "redis", "kill Redis, empty after", forget=True)


# The relative frequencies.
KILLS: dict[Kill, int] = {
    kill_runner: 12,
    kill_agent: 5,
    kill_service: 2,
    kill_redis: 1,
    empty_redis: 1,
}


def _kill(testbed: Testbed, name: str, kind: str, forget: bool = False) -> FaultOutcome | None:
    if name not in testbed.up():
        return None
    at = milliseconds()
    struck = tuple(one.id for one in testbed.records.held())
    testbed.kill(name, forget=forget)
    return FaultOutcome(kind, at, struck, kills=1)


def _aimed(kind: str, at: int, held: Sequence[Held]) -> FaultOutcome:
    return FaultOutcome(kind, at, tuple(one.id for one in held), is_aimed=True, kills=1)
