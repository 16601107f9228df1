"""Adds up runs of `ipulse selftest --faults --json` into benchmarks/results/faults.json.

    python -m benchmarks.faults RUN.json ...

Runs that differ in their runner stand apart. A run counts with whatever it found.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from ipulse.faults.report import quantile

RESULTS = Path(__file__).with_name("results") / "faults.json"
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
        **{kind: sum(len(run[kind] or ()) for run in runs) for kind in COUNTED},
        "clock_error_seconds": max(run["clock_error_seconds"] for run in runs),
        "reruns_after_a_killed_worker": _figures(worker),
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


def _figures(seconds: list[float]) -> dict[str, Any]:
    figures: dict[str, Any] = {"reruns": len(seconds)}
    if seconds:
        quantiles = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        figures |= {name: round(quantile(seconds, q), 2) for name, q in quantiles.items()}
        figures["within_20_s"] = sum(one <= 20.0 for one in seconds)
    return figures


if __name__ == "__main__":
    told = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    RESULTS.write_text(json.dumps(add_up(told), indent=2) + "\n")
    print(f"{len(told)} runs in {RESULTS}")
