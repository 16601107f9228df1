"""Measure systems in interleaved rounds, A B A B: a disturbance of the machine affects them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.common.core_latency import FAR_NS
from benchmarks.common.machine import QUIET, MachineLoad, await_quiet
from benchmarks.common.tables import Row
from benchmarks.training.peer_process import OverBudget, PeerProcess


@dataclass(frozen=True)
class Budget:
    """How long to measure, in seconds."""

    seconds: float = 4.0  # per system and pass, all rounds together
    rounds: int = 5
    # Limit for one system and pass. A slower system gets fewer rounds, or is reported as over
    # budget if it finishes none.
    limit: float = 180.0
    first_call: float = 600.0  # limit for the first call, which traces and compiles
    waiting: float = 45.0  # limit per pass for repeating disturbed rounds and waiting for quiet

    def calls(self, estimate_ms: float) -> int:
        """Return the calls per round: few, so that training does not change the spikes much."""
        return max(1, min(20, round(1e3 * self.seconds / self.rounds / max(estimate_ms, 1e-3))))

    def affordable_rounds(self, estimate_ms: float) -> int:
        """Return how many rounds fit the limit; at least one."""
        return max(1, min(self.rounds, int(1e3 * self.limit / max(estimate_ms, 1e-3))))


@dataclass(frozen=True)
class Round:
    """The result of every system in one round, by its name."""

    answers: dict[str, Row]
    background_cpus: dict[str, float]
    preempted: dict[str, float]
    latency_ns: dict[str, float]

    @property
    def disturbance(self) -> float:
        """CPUs that were unavailable at worst; one more if the cores shared no cache."""
        return max(
            used + self.preempted[name] + (self.latency_ns[name] > FAR_NS)
            for name, used in self.background_cpus.items()
        )


def measure(systems: Sequence[PeerProcess], what: str, budget: Budget) -> dict[str, Row]:
    """Measure one pass, "forward" or "train", of every system.

    Returns, by name, `summary` with the milliseconds of the first call and the machine's load;
    {"over_budget_ms"} for a system that exceeds its limit.
    """
    first_ms: dict[str, float] = {}
    estimates: dict[str, float] = {}
    results: dict[str, Row] = {}
    for system in systems:
        try:
            first_ms[system.name] = system.ask(f"{what} 1", budget.first_call)["ms"][0]
            # The second call compiles nothing, but its memory is still cold.
            second: float = system.ask(f"{what} 1", budget.limit)["ms"][0]
            estimates[system.name] = (
                system.ask(f"{what} 1", budget.limit)["ms"][0] if second < 2e3 else second
            )
        except OverBudget:
            results[system.name] = {"over_budget_ms": 1e3 * budget.limit}
    measured = [system for system in systems if system.name in estimates]
    if not measured:
        return results
    rounds = min(budget.affordable_rounds(ms) for ms in estimates.values())
    kept = least_loaded(lambda: _one_round(measured, what, budget, estimates), rounds, budget)
    for name in estimates:
        answers = [one.answers[name] for one in kept]
        results[name] = {
            **summary([ms for answer in answers for ms in answer["ms"]]),
            "first_ms": first_ms[name],
            "rounds": len(kept),
            "background_cpus": statistics.fmean(one.background_cpus[name] for one in kept),
            "preempted": statistics.fmean(one.preempted[name] for one in kept),
            "core_latency_ns": max(one.latency_ns[name] for one in kept),
        }
    return results


def _one_round(
    systems: Sequence[PeerProcess], what: str, budget: Budget, estimates: dict[str, float]
) -> Round:
    result = Round({}, {}, {}, {})
    for system in systems:
        name = system.name
        # Another system has replaced this one's data in the caches: short calls get one to warm up.
        warm_up = 1 if estimates[name] < 500 else 0
        before = MachineLoad.now([system.pid])
        calls = budget.calls(estimates[name]) + warm_up
        answer = system.ask(f"{what} {calls}", 10 * budget.limit)
        after = MachineLoad.now([system.pid])
        result.background_cpus[name] = before.background_cpus(after)
        result.preempted[name] = before.preempted_cpus(after)
        result.latency_ns[name] = before.worst_latency_ns(after)
        result.answers[name] = {"ms": answer["ms"][warm_up:]}
    return result


def least_loaded(
    take: Callable[[], Round],
    rounds: int,
    budget: Budget,
    wait: Callable[[float], float] = await_quiet,
) -> list[Round]:
    """Take rounds until `rounds` of them are undisturbed or `budget.waiting` is used up.

    Returns the least disturbed ones. Waiting for a quiet machine and disturbed rounds count
    against the limit.
    """
    taken: list[Round] = []
    waiting = budget.waiting
    while len(taken) < rounds or (waiting > 0 and taken[rounds - 1].disturbance > QUIET):
        if waiting > 0:
            waiting -= wait(waiting)
        begin = time.monotonic()
        taken.append(take())
        if taken[-1].disturbance > QUIET:
            waiting -= time.monotonic() - begin
        taken.sort(key=lambda one: one.disturbance)
    return taken[:rounds]


def interleave(steps: dict[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """Call functions of this process in turn for `seconds`; return milliseconds of each call.

    Each function is called at least three times, after one call that does not count.
    """
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    end = time.perf_counter() + seconds
    while min(map(len, times.values())) < 3 or time.perf_counter() < end:
        for name, step in steps.items():
            times[name].append(milliseconds(step))
    return times


def milliseconds(step: Callable[[], object]) -> float:
    """Return the wall-clock time of one call."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def summary(times: Sequence[float]) -> Row:
    """Return median, quartiles and number of the milliseconds."""
    low, median, high = (
        statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [*times] * 3
    )
    return {"ms": median, "q1_ms": low, "q3_ms": high, "calls": len(times)}


Times = dict[tuple[str, str], list[float]]


def program_times(
    runs: dict[tuple[str, str], Callable[[], object]], repeats: int
) -> tuple[Times, Times]:
    """Return the milliseconds of each program by the clock, and of all processors together."""
    times: Times = {key: [] for key in runs}
    processor: Times = {key: [] for key in runs}
    for _ in range(repeats):
        for key, run in runs.items():
            began, spent = time.perf_counter(), time.process_time()
            np.asarray(run())  # waits for the result
            times[key].append(1e3 * (time.perf_counter() - began))
            processor[key].append(1e3 * (time.process_time() - spent))
    return times, processor
