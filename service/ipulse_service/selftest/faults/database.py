"""Faults of the database: its clock is set, it is locked, PostgreSQL restarts or fails over."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random

from ipulse_core.states import Reason
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.processes import signal_tree
from ipulse_service.selftest.testbed import Testbed, milliseconds

HOUR = 3600.0
YEAR = 365.25 * 24 * HOUR
# The error of the clock after each step, in seconds; the last step sets it right.
STEPS = (5 * HOUR, 3 * HOUR, -2 * HOUR, 10 * YEAR, -30 * YEAR, 0.0)
STEPS_WHILE_STOPPED = (5 * HOUR, -2 * HOUR, 0.0)
# Beyond a lease, for the end of it: what the service did not listen meanwhile does not count.
AFTER_SECONDS = 60.0
BUSY_SECONDS = 60.0  # limit of the wait for an attempt to lose


ROUNDS = 3
AWAY_SECONDS = 3.0  # longer than the pause between two tries of a client
BETWEEN_SECONDS = 5.0
WORK_SECONDS = 40.0  # limit for a job to start and end on the new server


def step_clock(testbed: Testbed, random: Random, lease_seconds: float) -> Iterator[FaultOutcome]:
    """Sets the clock, suspends a busy agent, and expects its jobs, and only these, to be lost.

    The service runs meanwhile, or it is killed and starts after the step.
    """
    steps = [(seconds, True) for seconds in STEPS]
    steps += [(seconds, False) for seconds in STEPS_WHILE_STOPPED]
    for seconds, runs in steps:
        testbed.all_up()
        agent = _busy_agent(testbed, random)
        pid = testbed.pid(agent)
        at = milliseconds()
        signal_tree(pid, signal.SIGSTOP)
        try:
            lost = {one.id for one in testbed.held_by(agent)}
            others = {one.id for one in testbed.records.held()} - lost
            if not runs:
                testbed.kill("service")
            testbed.database_clock.set(seconds)
            testbed.all_up()
            time.sleep(lease_seconds)
            deadline = time.monotonic() + AFTER_SECONDS
            while still := lost & {one.id for one in testbed.records.held()}:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.5)
        finally:
            signal_tree(pid, signal.SIGCONT)
        where = "set the clock" if runs else "set the clock without a service"
        wrong = f"{where}, wrong by {seconds:g} s"
        if still:
            raise PromiseBroken(f"{wrong}, lost attempts hang: {still}")
        ended = {one.id for one in testbed.records.tried() if one.reason == Reason.WORKER_LOST}
        if others & ended:
            raise PromiseBroken(f"{wrong}, living agents lost {others & ended}")
        kind = f"stop agent, {where}"
        yield FaultOutcome(kind, at, tuple(lost), is_aimed=True, kills=0 if runs else 1)


def _busy_agent(testbed: Testbed, random: Random) -> str:
    end = time.monotonic() + BUSY_SECONDS
    while time.monotonic() < end:
        busy = [name for name in testbed.agents if testbed.held_by(name)]
        if busy:
            return random.choice(busy)
        time.sleep(0.05)
    raise PromiseBroken(f"no agent had work for {BUSY_SECONDS:g} s")


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


def lock_database(testbed: Testbed, random: Random, seconds: float) -> Iterator[FaultOutcome]:
    """Locks the database like a writer that does not end."""
    at = milliseconds()
    struck = tuple(one.id for one in testbed.records.held())
    with closing(testbed.records.lock()):
        time.sleep(seconds)
    yield FaultOutcome(f"database locked for {seconds:g} s", at, struck)
