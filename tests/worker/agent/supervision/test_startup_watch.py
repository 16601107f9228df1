"""A runner that starts slowly is waited for, one that hangs is not."""

from __future__ import annotations

import os
import time

from ipulse_worker.agent.supervision.startup_watch import (
    LONGEST,
    REPORT_SECONDS,
    StartupWatch,
    processor_seconds,
)
from tests.worker.agent.registration.test_quarantine import Watch


class Runner:
    """A process with a processor time that the test sets."""

    cpu = 3.0

    def seconds(self, pid: int) -> float:
        return self.cpu


def test_processor_time_is_progress() -> None:
    clock, runner = Watch(), Runner()
    watch = StartupWatch(7, 120.0, clock, runner.seconds)
    for _ in range(10):
        clock.now += 119.0
        runner.cpu += 0.01
        assert not watch.hangs()
    clock.now += 120.0
    assert watch.hangs()
    assert "not ready within 120 s of its last use of processor time, 0.1 s" in watch.why_killed


def test_a_start_that_never_ends_is_given_up() -> None:
    clock, runner = Watch(), Runner()
    watch = StartupWatch(7, 10.0, clock, runner.seconds)
    while not watch.hangs():
        clock.now += 1.0
        runner.cpu += 1.0
    assert clock.now == 1000.0 + LONGEST * 10.0
    assert "not ready within 200 s" in watch.why_killed


def test_reports_what_it_waits_for_now_and_then() -> None:
    clock, runner = Watch(), Runner()
    watch = StartupWatch(7, 120.0, clock, runner.seconds)
    reports = []
    for _ in range(90):
        clock.now += REPORT_SECONDS / 30
        runner.cpu += 0.5
        watch.hangs()
        reports += filter(None, [watch.report()])
    assert len(reports) == 3
    assert "import TensorFlow: 60 s, in which it got 30.0 s of processor time" in reports[1]


def test_the_kernel_counts_processor_time() -> None:
    before, own = processor_seconds(os.getpid()), time.process_time()
    while time.process_time() < own + 0.2:
        pass
    assert processor_seconds(os.getpid()) >= before + 0.1  # it counts in ticks
    assert processor_seconds(2**22 + 1) == 0.0
