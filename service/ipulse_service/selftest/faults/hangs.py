"""Faults that hang: a stopped agent, a locked database, a full disk."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from random import Random

from ipulse_service.selftest.fault_outcome import FaultOutcome
from ipulse_service.selftest.processes import signal_tree
from ipulse_service.selftest.testbed import Testbed, milliseconds

STOPPED_SECONDS = 5.0  # longer than the lease
FULL_SECONDS = 6.0


def stop_agent(testbed: Testbed, random: Random, lease_seconds: float) -> Iterator[FaultOutcome]:
    """Suspends an agent and its runner past the lease; they wake when another has the job."""
    busy = [name for name in testbed.agents if testbed.held_by(name)]
    name = random.choice(busy or testbed.agents)
    at = milliseconds()
    held = testbed.held_by(name)
    signal_tree(testbed.pid(name), signal.SIGSTOP)
    try:
        time.sleep(lease_seconds + STOPPED_SECONDS)
    finally:
        signal_tree(testbed.pid(name), signal.SIGCONT)
    struck = tuple(one.id for one in held)
    yield FaultOutcome("stop agent past its lease", at, struck, is_aimed=True)


def lock_database(testbed: Testbed, random: Random, seconds: float) -> Iterator[FaultOutcome]:
    """Locks the database like a writer that does not end."""
    at = milliseconds()
    struck = tuple(one.id for one in testbed.records.held())
    with closing(testbed.records.lock()):
        time.sleep(seconds)
    yield FaultOutcome(f"database locked for {seconds:g} s", at, struck)


def fill_disk(testbed: Testbed, random: Random, folder: str) -> Iterator[FaultOutcome]:
    """Fills the disk of a folder of the home."""
    kind = f"disk full: {_DISKS[folder]}"
    path = testbed.home / folder if folder else testbed.home
    at = milliseconds()
    struck = tuple(one.id for one in testbed.records.held())
    testbed.disks.fill(path)
    try:
        time.sleep(FULL_SECONDS)
    finally:
        testbed.disks.free(path)
    yield FaultOutcome(kind, at, struck)


_DISKS = {"": "database and its log", "artifacts": "artifacts", "work": "checkpoints"}
