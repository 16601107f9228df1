"""Interleaved rounds, and the load of the machine meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.common import core_latency, machine
from benchmarks.common.machine import MachineLoad
from benchmarks.training.rounds import Budget, Round, interleave, least_loaded, summary


def _round(*disturbances: float) -> Round:
    """A round in which a program disturbed the first system, and other guests the others."""
    used = {str(k): load * (k == 0) for k, load in enumerate(disturbances)}
    preempted = {str(k): load * (k > 0) for k, load in enumerate(disturbances)}
    return Round({}, used, preempted, dict.fromkeys(used, 50.0))


class TestRounds:
    def test_summary_of_one_call_and_of_many(self) -> None:
        assert summary([3.0]) == {"ms": 3.0, "q1_ms": 3.0, "q3_ms": 3.0, "calls": 1}
        many = summary([4.0, 1.0, 2.0, 3.0, 100.0])
        assert (many["ms"], many["q1_ms"], many["q3_ms"]) == (3.0, 2.0, 4.0)

    def test_functions_are_called_in_turn(self) -> None:
        calls: list[str] = []
        steps = {name: lambda name=name: calls.append(name) for name in "AB"}
        times = interleave(steps, seconds=0.0)
        assert calls == ["A", "B"] * 4  # one call each that does not count
        assert [len(samples) for samples in times.values()] == [3, 3]

    def test_slow_calls_get_fewer_rounds_and_at_least_one(self) -> None:
        budget = Budget(seconds=4.0, rounds=5, limit=60.0)
        assert (budget.calls(1.0), budget.calls(80.0), budget.calls(9e3)) == (20, 10, 1)
        assert budget.affordable_rounds(1e3) == 5
        assert budget.affordable_rounds(25e3) == 2
        assert budget.affordable_rounds(1e6) == 1

    def test_disturbed_rounds_are_repeated_while_there_is_time(self) -> None:
        loads = iter([0.5, 0.0, 0.3, 0.1, 0.9])
        budget = Budget(waiting=60.0)
        kept = least_loaded(lambda: _round(0.0, next(loads)), 2, budget, wait=lambda _: 0.0)
        assert [one.disturbance for one in kept] == [0.0, 0.1]
        assert list(loads) == [0.9]

    @pytest.mark.parametrize("waiting", [0.0, 25.0])
    def test_the_least_disturbed_rounds_count_when_time_is_up(self, waiting: float) -> None:
        loads = iter([0.5, 0.9, 0.3, 0.2, 0.4])
        waits: list[float] = []

        def wait(seconds: float) -> float:
            waits.append(seconds)
            return 10.0

        kept = least_loaded(lambda: _round(next(loads)), 2, Budget(waiting=waiting), wait)
        assert [one.disturbance for one in kept] == ([0.3, 0.5] if waiting else [0.5, 0.9])
        assert [round(seconds) for seconds in waits] == ([25, 15, 5] if waiting else [])

    def test_a_round_on_cores_without_a_shared_cache_counts_last(self) -> None:
        near, far = _round(0.2, 0.0), _round(0.0, 0.0)
        far.latency_ns["1"] = 2 * core_latency.FAR_NS
        rounds = iter([far, near])
        assert least_loaded(lambda: next(rounds), 1, Budget(waiting=60.0), lambda _: 59.9) == [near]


class TestMachine:
    def test_waiting_ends_when_time_is_up_or_the_machine_quiet(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine, "preempted_cpus", lambda: 1.0)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "preempted_cpus", lambda: machine.QUIET)
        monkeypatch.setattr(machine, "are_far_apart", lambda: True)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "are_far_apart", lambda: False)
        assert machine.await_quiet(1e6) < 10

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="has a single CPU")
    def test_latency_between_cpus_is_positive_and_none_with_one(self) -> None:
        assert 5 < core_latency.core_latency_ns() < 1e5
        cpus = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(cpus)})
            assert core_latency.core_latency_ns() == 0
        finally:
            os.sched_setaffinity(0, cpus)

    def test_background_load_leaves_out_the_measured_processes(self) -> None:
        before = MachineLoad.now([])
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            deadline = time.monotonic() + 60
            while (with_it := MachineLoad.now([])).cpu_seconds - before.cpu_seconds < 0.9:
                assert time.monotonic() < deadline
            used = psutil.Process(other.pid).cpu_times()
            without_it = MachineLoad.now([other.pid])
            later = MachineLoad.now([])
            other.kill()
        assert with_it.cpu_seconds <= later.cpu_seconds
        assert without_it.cpu_seconds <= later.cpu_seconds - used.user - used.system + 0.1

    def test_the_description_does_not_name_the_machine(self) -> None:
        description = machine.description()
        assert description["processor"]
        assert description["cores"] >= 1
        text = json.dumps(description) + machine.summary_line()
        assert Path("/proc/sys/kernel/hostname").read_text().strip() not in text
        assert str(Path.home()) not in text
