"""Full disks: of one agent while the others have room, or of a folder of the home."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

from ipulse.client import Connection
from ipulse_core.states import Reason
from ipulse_service.selftest.fault_outcome import LOST, FaultOutcome, PromiseBroken
from ipulse_service.selftest.records import Tried
from ipulse_service.selftest.testbed import SMALL_WORK, Testbed, milliseconds
from ipulse_service.settings import Settings

LEFT_BYTES = 8192  # less than any job writes
WAIT_SECONDS = 180.0
FULL_SECONDS = 6.0  # of a folder of the home
_FULL = Reason.WORKER_DISK_FULL.value
T = TypeVar("T")


def fill_worker_disk(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Fills the disk of one more agent, waits until it gives back a job, and frees the disk.

    An agent whose disk is as before takes other jobs at once. Raises PromiseBroken if it gives back
    none, if the service does not know why, if the agent does not work again, or if a job lost as
    many attempts as a stack allows by default.
    """
    path = testbed.home / SMALL_WORK
    variables = {"IPULSE_WORK_DIR": str(path), "IPULSE_LEAST_FREE_BYTES": "1"}
    client = Connection(testbed.stack.url, token_file=testbed.stack.token_path)
    with client, testbed.more_agent(SMALL_WORK, variables):
        at = milliseconds()
        testbed.disks.fill(path, LEFT_BYTES)
        try:
            first = _within(lambda: _given_back(testbed), "no job was given back")
        finally:
            testbed.disks.free(path)
        _within(lambda: not _faults(client), "the agent did not recover")
        ends = f"-{SMALL_WORK}"
        _within(
            lambda: any(held.agent.endswith(ends) for held in testbed.records.held()),
            "the agent takes no job",
        )
    given_back = _given_back(testbed)
    yield FaultOutcome(
        "full disk of one agent", at, tuple(tried.id for tried in given_back), is_aimed=True
    )
    if str(path) not in first[0].message:
        raise PromiseBroken(f"the end of {first[0].id} does not name {path}: {first[0].message}")
    jobs = {tried.job for tried in given_back}
    losses = Counter(
        tried.job
        for tried in testbed.records.tried()
        if tried.job in jobs and tried.reason in LOST and tried.started_at >= at
    )
    most = Settings.model_fields["max_attempts"].default
    for job, lost in losses.items():
        if lost >= most:
            raise PromiseBroken(f"{job} lost {lost} attempts; by default it would have failed")


def _given_back(testbed: Testbed) -> list[Tried]:
    return [tried for tried in testbed.records.tried() if tried.reason == _FULL]


def _faults(client: Connection) -> list[str]:
    return [agent.fault for agent in client.agents() if agent.fault]


def _within(look: Callable[[], T], broken: str) -> T:
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise PromiseBroken(f"{broken} within {WAIT_SECONDS:g} s after a disk was filled")
        time.sleep(0.2)
    return found


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
