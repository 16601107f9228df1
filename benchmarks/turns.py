"""Measuring sides in turns, A B A B: what disturbs the machine for a while disturbs all of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.machine import Load
from benchmarks.side import OverBudget, Side

Row = dict[str, Any]
TURNS = 5


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    seconds: float = 4.0  # of each side and pass, all turns together
    turns: int = TURNS
    # Of one side and pass, whatever it takes. A side that needs more is reported with what it
    # managed, or as over budget if that is nothing.
    budget: float = 180.0
    # Of the first call, which traces and compiles.
    patience: float = 600.0

    def calls(self, estimate_ms: float) -> int:
        """Calls of one turn of a side whose call takes that long. Few, so that a fast side does not
        train on its one batch until its spikes are others."""
        return max(1, min(20, round(1e3 * self.seconds / self.turns / max(estimate_ms, 1e-3))))

    def affordable_turns(self, estimate_ms: float) -> int:
        """Turns of such a side; at least one."""
        return max(1, min(self.turns, int(1e3 * self.budget / max(estimate_ms, 1e-3))))


def measure(sides: Sequence[Side], what: str, effort: Effort, batch: int) -> dict[str, Row]:
    """One pass, "forward" or "train", of every side by its name: see `summary`, and `first_ms`,
    which includes compiling. A side over its budget has {"over_budget_ms"} instead.
    """
    firsts: dict[str, float] = {}
    estimates: dict[str, float] = {}
    results: dict[str, Row] = {}
    for side in sides:
        try:
            firsts[side.name] = side.ask(f"{what} 1", effort.patience)["ms"][0]
            # The second still finds cold memory, but nothing to compile.
            second: float = side.ask(f"{what} 1", effort.budget)["ms"][0]
            estimates[side.name] = (
                side.ask(f"{what} 1", effort.budget)["ms"][0] if second < 2e3 else second
            )
        except OverBudget:
            results[side.name] = {"over_budget_ms": 1e3 * effort.budget}
    measured = [side for side in sides if side.name in estimates]
    turns = min((effort.affordable_turns(ms) for ms in estimates.values()), default=0)
    times: dict[str, list[float]] = {side.name: [] for side in measured}
    cpu: dict[str, list[float]] = {side.name: [] for side in measured}
    alone: dict[str, list[float]] = {side.name: [] for side in measured}
    for _ in range(turns):
        for side in measured:
            calls = effort.calls(estimates[side.name])
            before = Load.now([side.pid])
            # What another side left in the caches is not this one's: short calls get one for free.
            skip = 1 if estimates[side.name] < 500 else 0
            answer = side.ask(f"{what} {calls + skip}", 10 * effort.budget)
            alone[side.name].append(before.until(Load.now([side.pid])))
            times[side.name] += answer["ms"][skip:]
            cpu[side.name] += answer["cpu_ms"][skip:]
    for side in measured:
        name = side.name
        results[name] = {
            **summary(times[name], batch),
            "cpu_ms": statistics.median(cpu[name]),
            "first_ms": firsts[name],
            "turns": turns,
            "others_load": statistics.fmean(alone[name]),
        }
    return results


def summary(times: Sequence[float], batch: int) -> Row:
    """Median, quartiles, extremes and number of milliseconds; samples per second at the median."""
    median = statistics.median(times)
    low, _, high = (
        statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    )
    return {
        "ms": median,
        "quartiles_ms": [low, high],
        "min_ms": min(times),
        "max_ms": max(times),
        "calls": len(times),
        "samples_per_s": 1e3 * batch / median,
    }
