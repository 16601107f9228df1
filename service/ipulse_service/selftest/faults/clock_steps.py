"""The clock of the database is set, while attempts run and an agent is lost.

The service runs meanwhile, or it is killed and starts after the step.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from random import Random

from ipulse_core.states import Reason
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.processes import signal_tree
from ipulse_service.selftest.testbed import Testbed, milliseconds

HOUR = 3600.0
YEAR = 365.25 * 24 * HOUR
# The error of the clock after each step, in seconds; the last step sets it right.
STEPS = (5 * HOUR, 3 * HOUR, -2 * HOUR, 10 * YEAR, -30 * YEAR, 0.0)
STEPS_WHILE_STOPPED = (5 * HOUR, -2 * HOUR, 0.0)
AFTER_SECONDS = 5.0  # for the scan that ends the lease, on a busy machine
BUSY_SECONDS = 60.0  # limit of the wait for an attempt to lose


def step_clock(testbed: Testbed, random: Random, lease_seconds: float) -> Iterator[FaultOutcome]:
    """Sets the clock, suspends a busy agent, and expects its jobs, and only these, to be lost."""
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
            time.sleep(lease_seconds + AFTER_SECONDS)
            still = lost & {one.id for one in testbed.records.held()}
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
