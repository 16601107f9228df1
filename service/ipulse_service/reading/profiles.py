"""Compares profiles of jobs: `python -m ipulse_service.reading.profiles diff|copies FILES...`.

`diff` takes profile.json of two jobs, and then poplar_profile.json of both if both have one;
`copies` takes one poplar_profile.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ipulse_core.errors import Problem
from ipulse_core.pva.difference import Change, ProfileDifference, unlike_targets
from ipulse_core.pva.job_difference import JobDifference
from ipulse_core.pva.report import InvalidReport, Report
from ipulse_service.reading import child
from ipulse_service.reading.limits import MOST_CHANGES

MOST_STEPS = 100_000  # of a program
_OTHER_FORM = "a profile has another form than this version writes"
_OF_JOBS = ("speed", "phases", "step", "layers", "memory")
_OF_TILES = ("figures", "programs", "layers", "tile_memory", "tile_cycles")


def read(arguments: list[str]) -> dict[str, Any]:
    """Reads the files and returns what the comparison found. Raises InvalidReport."""
    kind, *paths = arguments
    try:
        if kind == "copies":
            report = Report(_document(paths[0], "job"))
            copies = report.execution.host_copies if report.has_run else []
            return {"copies": [each._asdict() for each in copies]}
        return _difference(paths)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _unreadable(_OTHER_FORM, "job" if kind == "copies" else "a") from error


def _difference(paths: Sequence[str]) -> dict[str, Any]:
    names = ("a", "b")
    times = JobDifference(*map(_document, paths[:2], names))
    result: dict[str, Any] = {"unlike": [], "tiles": None}
    result |= {name: _changes(getattr(times, name)) for name in _OF_JOBS}
    if len(paths) > 2:
        before, after = (Report(_document(*each)) for each in zip(paths[2:], names, strict=True))
        found = ProfileDifference(before, after)
        tiles: dict[str, Any] = {name: _changes(getattr(found, name)) for name in _OF_TILES}
        result["unlike"] = unlike_targets(before, after)
        result["tiles"] = {**tiles, "liveness": [_liveness(before), _liveness(after)]}
    return result


def _changes(changes: Sequence[Change]) -> dict[str, Any]:
    """Returns the first of the changes, and how many there are."""
    shown = [each.to_json() for each in changes[:MOST_CHANGES]]
    return {"total": len(changes), "changes": shown}


def _liveness(report: Any) -> list[int]:
    """Returns the bytes that are not always live, by step of the program."""
    steps = report.compilation.livenessProgramSteps
    if len(steps) > MOST_STEPS:
        raise _unreadable(f"a program has more than {MOST_STEPS:,} steps: compare it offline", "a")
    return [int(step.notAlwaysLiveMemory.bytes) for step in steps]


def _document(path: str, name: str) -> Any:
    try:
        return json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise _unreadable("a profile is not a JSON document", name) from error


def _unreadable(detail: str, name: str) -> InvalidReport:
    return InvalidReport([Problem(f"/query/{name}", "unreadable_profile", detail)])


if __name__ == "__main__":
    sys.exit(child.run(read))
