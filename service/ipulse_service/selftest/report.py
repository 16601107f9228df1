"""The outcome of a run as JSON and as a table, which `ipulse selftest` prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.selftest import GROUPS, suite
from ipulse_service.selftest.plan import Plan
from ipulse_service.selftest.suite import Outcome

HEADERS = ("fault", "times", "attempts struck", "reruns", "p50 s", "p99 s", "max s")


@dataclass(frozen=True)
class Report:
    """The outcome of a run, as it is printed."""

    document: dict[str, Any]
    headers: Sequence[str]
    rows: Sequence[list[str]]
    facts: list[list[str]]
    is_clean: bool
    logs: Path | None


def run_faults(say: Callable[[str], None], only: Sequence[str] | None, **options: Any) -> Report:
    """Runs these groups of faults, or all, and returns the outcome.

    It is the entry point `faults` of the group `ipulse.selftest`, by which the command line finds
    it. The options are fields of Plan. Raises InvalidInput if a group is unknown, and what
    `suite.run` raises.
    """
    for name in only or ():
        if name not in GROUPS:
            detail = f"must be one of {', '.join(GROUPS)}; got {name[:60]!r}"
            raise InvalidInput(
                [Problem("/only", "not_a_choice", detail)], "unknown group of faults"
            )
    outcome = suite.run(Plan(groups=tuple(only or GROUPS), **options), say)
    document = to_json(outcome)
    return Report(
        document,
        HEADERS,
        [*rows(document["faults"])],
        facts(document),
        outcome.findings.is_clean,
        outcome.logs,
    )


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Returns the outcome as JSON, with every single time, so that runs can be combined."""
    plan, found = outcome.plan, outcome.findings
    on = " on PostgreSQL" if plan.postgresql else ""
    return {
        "seed": plan.seed,
        "runner": ("training" if plan.trains else "scripted") + on,
        "agents": plan.agents,
        "lease_seconds": plan.lease_seconds,
        "seconds": round(outcome.seconds, 1),
        "kills": sum(fault.kills for fault in outcome.faults),
        "jobs_accepted": outcome.accepted,
        "jobs_by_state": dict(sorted(found.states.items())),
        "lost": found.lost,
        "run_twice_officially": found.doubled,
        "old_runner_beside_next": None if plan.trains else found.overlapping,
        "broken": found.broken,
        "clock_error_seconds": round(outcome.clock_error_seconds, 1),
        "statuses": {str(status): count for status, count in outcome.statuses.items()},
        "memory_mib": {name: list(life) for name, life in outcome.memory.items()},
        "skipped": outcome.skipped,
        "faults": [
            {
                "fault": kind,
                "times": sum(one.kind == kind for one in outcome.faults),
                "attempts_struck": sum(
                    len(one.attempts) for one in outcome.faults if one.kind == kind
                ),
                "rerun_seconds": [round(one, 3) for one in sorted(seconds)],
            }
            for kind, seconds in outcome.reruns.items()
        ],
    }


def rows(faults: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yields the lines of the table from the JSON of one or several runs."""
    for one in faults:
        seconds = one["rerun_seconds"]
        figures = [f"{quantile(seconds, q):.1f}" if seconds else "" for q in (0.5, 0.99, 1.0)]
        counts = [str(one["times"]), str(one["attempts_struck"]), str(len(seconds))]
        yield [one["fault"], *counts, *figures]


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def facts(document: dict[str, Any]) -> list[list[str]]:
    """Returns the lines below the table."""
    overlapping = document["old_runner_beside_next"]
    return [
        ["kills", str(document["kills"])],
        ["jobs accepted", str(document["jobs_accepted"])],
        ["ended", ", ".join(f"{state} {n}" for state, n in document["jobs_by_state"].items())],
        ["lost", str(len(document["lost"]))],
        ["run twice officially", str(len(document["run_twice_officially"]))],
        [
            "old runner beside the next",
            "not looked at" if overlapping is None else str(len(overlapping)),
        ],
        ["other promises broken", str(len(document["broken"]))],
        [
            "clocks wrong by up to",
            f"{document['clock_error_seconds']:g} s (injected into time.time)",
        ],
        ["answers meanwhile", ", ".join(f"{n} x {s}" for s, n in document["statuses"].items())],
        *([f"memory, {name}", _grown(life)] for name, life in document["memory_mib"].items()),
        ["not done", "; ".join(document["skipped"])],
    ]


def _grown(life: Sequence[Sequence[float]]) -> str:
    """Returns the memory of a process in the middle and at the end of its series, in MiB."""
    (first, _), (middle, before), (last, after) = life[0], life[len(life) // 2], life[-1]
    return f"{before} MiB after {middle - first} jobs, {after} MiB after {last - first}"
