"""Measuring sides in turns, A B A B: what disturbs the machine for a while disturbs all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.exchange import FAR_NS
from benchmarks.machine import QUIET, Load, await_quiet
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
    # Of one pass of all sides: what disturbed turns and waiting for a quiet machine may take.
    waiting: float = 45.0

    def calls(self, estimate_ms: float) -> int:
        """Calls of one turn of a side whose call takes that long. Few, so that a fast side does not
        train on its one batch until its spikes are others."""
        return max(1, min(20, round(1e3 * self.seconds / self.turns / max(estimate_ms, 1e-3))))

    def affordable_turns(self, estimate_ms: float) -> int:
        """Turns of such a side; at least one."""
        return max(1, min(self.turns, int(1e3 * self.budget / max(estimate_ms, 1e-3))))


@dataclass(frozen=True)
class Turn:
    """What every side did in one turn, by its name."""

    answers: dict[str, Row]
    # Processors that others used, and that were lost besides: see benchmarks.machine.Load.
    others_load: dict[str, float]
    lost: dict[str, float]
    exchange_ns: dict[str, float]  # see benchmarks.exchange

    @property
    def disturbance(self) -> float:
        """Processors that were not to be had; one more where they were far from each other."""
        return max(
            load + self.lost[name] + (self.exchange_ns[name] > FAR_NS)
            for name, load in self.others_load.items()
        )


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

    def take() -> Turn:
        turn = Turn({}, {}, {}, {})
        for side in measured:
            calls = effort.calls(estimates[side.name])
            # What another side left in the caches is not this one's: short calls get one for free.
            skip = 1 if estimates[side.name] < 500 else 0
            before = Load.now([side.pid])
            answer = side.ask(f"{what} {calls + skip}", 10 * effort.budget)
            after = Load.now([side.pid])
            turn.others_load[side.name] = before.until(after)
            turn.lost[side.name] = before.lost_until(after)
            turn.exchange_ns[side.name] = before.exchange_ns_until(after)
            turn.answers[side.name] = {key: answer[key][skip:] for key in ("ms", "cpu_ms")}
        return turn

    if not measured:
        return results
    turns = min(effort.affordable_turns(ms) for ms in estimates.values())
    kept = quietest(take, turns, effort.waiting)
    for name in estimates:
        answers = [turn.answers[name] for turn in kept]
        results[name] = {
            **summary([ms for answer in answers for ms in answer["ms"]], batch),
            "cpu_ms": statistics.median(ms for answer in answers for ms in answer["cpu_ms"]),
            "first_ms": firsts[name],
            "turns": len(kept),
            "others_load": statistics.fmean(turn.others_load[name] for turn in kept),
            "lost": statistics.fmean(turn.lost[name] for turn in kept),
            "exchange_ns": max(turn.exchange_ns[name] for turn in kept),
        }
    return results


def quietest(
    take: Callable[[], Turn],
    turns: int,
    waiting: float,
    wait: Callable[[float], float] = await_quiet,
) -> list[Turn]:
    """So many turns that nobody disturbed; the least disturbed ones if `waiting` seconds, in
    disturbed turns and before turns, do not bring enough. At least one turn is wanted."""
    taken: list[Turn] = []
    while len(taken) < turns or (waiting > 0 and taken[turns - 1].disturbance > QUIET):
        if waiting > 0:
            waiting -= wait(waiting)
        begin = time.monotonic()
        taken.append(take())
        if taken[-1].disturbance > QUIET:
            waiting -= time.monotonic() - begin
        taken.sort(key=lambda turn: turn.disturbance)
    return taken[:turns]


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
