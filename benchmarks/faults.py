"""Adds up runs of `ipulse selftest --faults --json` into benchmarks/results/faults.json, and
writes them into docs/reliability.md.

    python -m benchmarks.faults [--beside NAME] RUN.json ...

Runs that differ in their runner stand apart. A run counts with whatever it found. With --beside
the new runs stand below those of before, under that name, and not in their place.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ipulse_service.selftest.report import quantile

RESULTS = Path(__file__).with_name("results") / "faults.json"
PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- written by benchmarks/faults.py -->\n", "<!-- to here -->\n"
COUNTED = ("lost", "run_twice_officially", "old_runner_beside_next", "broken")
WORKER = ("kill agent", "kill runner")  # what the time to a rerun is promised for


def add_up(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One entry for each kind of runner."""
    by_runner: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        by_runner[run["runner"]].append(run)
    return {runner: _sum(some) for runner, some in sorted(by_runner.items())}


def _sum(runs: list[dict[str, Any]]) -> dict[str, Any]:
    faults: dict[str, dict[str, Any]] = {}
    for run in runs:
        for one in run["faults"]:
            empty = {"times": 0, "attempts_struck": 0, "seconds": []}
            into = faults.setdefault(one["fault"], empty)
            into["times"] += one["times"]
            into["attempts_struck"] += one["attempts_struck"]
            into["seconds"] += one["rerun_seconds"]
    worker = [s for kind in WORKER if kind in faults for s in faults[kind]["seconds"]]
    return {
        "seeds": sorted(run["seed"] for run in runs),
        "agents": sorted({run["agents"] for run in runs}),
        "lease_seconds": sorted({run["lease_seconds"] for run in runs}),
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "kills": sum(run["kills"] for run in runs),
        "jobs_accepted": sum(run["jobs_accepted"] for run in runs),
        **{kind: _count(run[kind] for run in runs) for kind in COUNTED},
        "clock_error_seconds": max(run["clock_error_seconds"] for run in runs),
        "reruns_after_a_killed_worker": _figures(worker),
        "memory_mib": _memory(run.get("memory_mib", {}) for run in runs),
        "skipped": sorted({one for run in runs for one in run["skipped"]}),
        "faults": {
            kind: {
                "times": one["times"],
                "attempts_struck": one["attempts_struck"],
                **_figures(one["seconds"]),
            }
            for kind, one in sorted(faults.items())
        },
    }


def _memory(runs: Iterable[dict[str, list[list[float]]]]) -> dict[str, list[list[float]]]:
    """Of each kind of part the life in which most jobs were accepted: [jobs, MiB] over it."""
    longest: dict[str, list[list[float]]] = {}
    for run in runs:
        for name, life in run.items():
            kind = name.partition("-")[0]  # one agent is like another
            told = [[jobs - life[0][0], mebibytes] for jobs, mebibytes in life]
            if told[-1][0] > longest.get(kind, [[-1, 0.0]])[-1][0]:
                longest[kind] = told
    return longest


def _count(found: Iterable[list[str] | None]) -> int | None:
    """None where a run did not look."""
    counts = [None if one is None else len(one) for one in found]
    return None if None in counts else sum(count or 0 for count in counts)


def _beside(count: int | None) -> str:
    if count is None:
        return "where no runner tells of old ones beside the next, "
    return f"{count} with an old runner beside the next one, "


def _figures(seconds: list[float]) -> dict[str, Any]:
    figures: dict[str, Any] = {"reruns": len(seconds)}
    if seconds:
        quantiles = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        figures |= {name: round(quantile(seconds, q), 2) for name, q in quantiles.items()}
        figures["within_20_s"] = sum(one <= 20.0 for one in seconds)
    return figures


def page_with(page: str, told: dict[str, Any]) -> str:
    """The page with these figures in the place that is marked for them."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "\n".join(_lines(told)) + "\n" + END + after


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for runner, one in told.items():
        yield (
            f"Runner: {runner}. Seeds {', '.join(map(str, one['seeds']))}: "
            f"{one['kills']} kills in {one['seconds'] / 60:.0f} minutes, "
            f"{one['jobs_accepted']} jobs accepted, {one['lost']} lost, "
            f"{one['run_twice_officially']} run twice officially, "
            f"{_beside(one['old_runner_beside_next'])}"
            f"{one['broken']} other promises broken; clocks wrong by up to "
            f"{one['clock_error_seconds']:.0f} s."
        )
        reruns = one["reruns_after_a_killed_worker"]
        if reruns["reruns"]:
            yield ""
            yield (
                f"After a killed worker, {reruns['within_20_s']} of {reruns['reruns']} reruns "
                f"began within 20 s (half within {reruns['p50']:.1f} s, 99 of 100 within "
                f"{reruns['p99']:.1f} s, all within {reruns['max']:.1f} s)."
            )
        if one.get("memory_mib"):
            yield ""
            yield "Memory of its own, in the life that saw most jobs:"
            yield ""
            yield from _memory_table(one["memory_mib"])
        if not one["faults"]:
            yield ""
            continue
        yield ""
        yield "| fault | times | attempts struck | reruns | p50 s | p99 s | max s |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for kind, figures in one["faults"].items():
            times = [f"{figures[q]:.1f}" if q in figures else "" for q in ("p50", "p99", "max")]
            counts = [figures["times"], figures["attempts_struck"], figures["reruns"]]
            yield "| " + " | ".join(map(str, [kind, *counts, *times])) + " |"
        yield ""


def _memory_table(lives: dict[str, list[list[float]]]) -> Iterator[str]:
    yield "| part | jobs seen | MiB at a quarter | at half | at three quarters | in the end |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, life in lives.items():
        jobs = life[-1][0]
        after = [next(m for n, m in life if n >= jobs * share) for share in (0.25, 0.5, 0.75)]
        yield f"| {name} | {jobs} | " + " | ".join(f"{m:.1f}" for m in [*after, life[-1][1]]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--beside", metavar="NAME", help="what these runs are of")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN.json")
    options = parser.parse_args()
    added = add_up([json.loads(path.read_text()) for path in options.runs])
    if options.beside:
        named = {f"{runner} ({options.beside})": one for runner, one in added.items()}
        added = {**json.loads(RESULTS.read_text()), **named}
    RESULTS.write_text(json.dumps(added, indent=2) + "\n")
    PAGE.write_text(page_with(PAGE.read_text(), added))
    print(f"{len(options.runs)} runs in {RESULTS}")


if __name__ == "__main__":
    main()
