"""SIGKILL, to any part at any moment; several parts may be down at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from random import Random

from ipulse_service.selftest.fault_outcome import Injury
from ipulse_service.selftest.records import Held
from ipulse_service.selftest.testbed import Stand, milliseconds

Kill = Callable[[Stand, Random], Injury | None]  # None: nothing to kill just now


def kill_runner(stand: Stand, random: Random) -> Injury | None:
    """The process of an attempt that is under way, in whatever phase."""
    held = stand.records.held()
    if not held:
        return None
    one = random.choice(held)
    pid = stand.runner_of(one.id)
    if pid is None:
        return None
    at = milliseconds()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it ended in the meantime
        return None
    return _aimed("kill runner", at, [one])


def kill_agent(stand: Stand, random: Random) -> Injury | None:
    """Any of them, with a job or without."""
    up = [name for name in stand.up() if name in stand.agents]
    if not up:
        return None
    name = random.choice(up)
    at = milliseconds()
    held = stand.held_by(name)
    stand.kill(name)
    return _aimed("kill agent", at, held)


def kill_service(stand: Stand, random: Random) -> Injury | None:
    return _kill(stand, "service", "kill service")


def kill_redis(stand: Stand, random: Random) -> Injury | None:
    return _kill(stand, "redis", "kill Redis")


def empty_redis(stand: Stand, random: Random) -> Injury | None:
    """What it had on its disk is gone too."""
    return _kill(stand, "redis", "kill Redis, empty after", forget=True)


# Relative to each other, how often.
KILLS: dict[Kill, int] = {
    kill_runner: 12,
    kill_agent: 5,
    kill_service: 2,
    kill_redis: 1,
    empty_redis: 1,
}


def _kill(stand: Stand, name: str, kind: str, forget: bool = False) -> Injury | None:
    if name not in stand.up():
        return None
    at = milliseconds()
    struck = tuple(one.id for one in stand.records.held())
    stand.kill(name, forget=forget)
    return Injury(kind, at, struck, kills=1)


def _aimed(kind: str, at: int, held: Sequence[Held]) -> Injury:
    return Injury(kind, at, tuple(one.id for one in held), is_aimed=True, kills=1)
