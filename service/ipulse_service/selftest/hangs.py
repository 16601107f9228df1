"""What does not end but stands still: a stopped agent, a locked database, a full disk."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from random import Random

from ipulse_service.selftest.fault_outcome import Injury
from ipulse_service.selftest.processes import signal_tree
from ipulse_service.selftest.testbed import Stand, milliseconds

STOPPED_SECONDS = 5.0  # longer than the lease
FULL_SECONDS = 6.0


def stop_agent(stand: Stand, random: Random, lease_seconds: float) -> Iterator[Injury]:
    """An agent and all below it sleep past their lease, and wake when another has the job."""
    busy = [name for name in stand.agents if stand.held_by(name)]
    name = random.choice(busy or stand.agents)
    at = milliseconds()
    held = stand.held_by(name)
    signal_tree(stand.pid(name), signal.SIGSTOP)
    try:
        time.sleep(lease_seconds + STOPPED_SECONDS)
    finally:
        signal_tree(stand.pid(name), signal.SIGCONT)
    struck = tuple(one.id for one in held)
    yield Injury("stop agent past its lease", at, struck, is_aimed=True)


def lock_database(stand: Stand, random: Random, seconds: float) -> Iterator[Injury]:
    """Somebody else writes and does not come to an end."""
    at = milliseconds()
    struck = tuple(one.id for one in stand.records.held())
    with closing(stand.records.lock()):
        time.sleep(seconds)
    yield Injury(f"database locked for {seconds:g} s", at, struck)


def fill_disk(stand: Stand, random: Random, folder: str) -> Iterator[Injury]:
    """No byte is free below a folder of the home."""
    kind = f"disk full: {_DISKS[folder]}"
    path = stand.home / folder if folder else stand.home
    at = milliseconds()
    struck = tuple(one.id for one in stand.records.held())
    stand.disks.fill(path)
    try:
        time.sleep(FULL_SECONDS)
    finally:
        stand.disks.free(path)
    yield Injury(kind, at, struck)


_DISKS = {"": "database and its log", "artifacts": "artifacts", "work": "checkpoints"}
