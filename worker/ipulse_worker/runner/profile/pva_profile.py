"""Converts Poplar's report of a program to the tile profile of docs/reference/tile_profile.md.

Graphcore's `pva` reads the report. Profiles of emulated and of real IPUs have the same format. Only
documented attributes of libpva are read, and attributes that a version lacks are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ipulse_core.pva.report import sdk_module
from ipulse_worker.runner.profile.tile_profile import CATEGORIES
from ipulse_worker.runner.profile.tile_records import KINDS

MOST_STEPS = 5000  # per run
MOST_LIVENESS_STEPS = 1000
MOST_ALWAYS_LIVE = 100
MOST_LIVE = 8  # variables per step

_TARGET = (
    *("numIPUs", "tilesPerIpu", "numTiles", "bytesPerTile", "bytesPerIPU", "totalMemory"),
    *("clockFrequency", "numReplicas", "ipusPerReplica", "tilesPerReplica"),
)
_GRAPH = ("numVars", "numVertices", "numEdges", "numComputeSets")
_CATEGORIES = (
    *(name for names in CATEGORIES.values() for name in names),
    *("copyDescriptor", "vectorListDescriptor", "hostExchangePacketHeader"),
    *("globalExchangePacketHeader", "instrumentationResults"),
)
_KIND_OF = {
    "DoExchange": "exchange",
    "GlobalExchange": "exchange",
    "StreamCopyBegin": "host",
    "StreamCopyMid": "host",
    "StreamCopyEnd": "host",
    "Sync": "sync",
    "SyncAns": "sync",
}  # all other types are compute


def most_expensive(reports: Path) -> Optional[Dict[str, Any]]:
    """Return the profile with most cycles of a directory of reports, or None.

    Raises:
        ImportError: no SDK's `pva` is installed.
    """
    profiles = sorted(reports.glob("tf_report_*/profile.pop"))
    debug = reports / "debug.cbor"
    documents = [read(profile, debug if debug.exists() else None) for profile in profiles]
    return max(documents, key=_cycles_of, default=None)


def read(profile: Path, debug: Optional[Path] = None) -> Dict[str, Any]:
    """Convert one report; raises ImportError without the SDK's `pva`."""
    report = sdk_module().openReport(str(profile), *([str(debug)] if debug else []))
    document = {"emulated": False, "compilation": _compilation(report.compilation)}
    execution = _section(report, "execution")
    if execution is not None:
        document["execution"] = _execution(execution)
    return document


def _section(report: Any, name: str) -> Any:
    """Return an attribute; None if it was not recorded, for which pva raises an error."""
    try:
        return getattr(report, name)
    except Exception:  # noqa: BLE001 - its class is not documented
        return None


def _compilation(compilation: Any) -> Dict[str, Any]:
    tiles = [_tile(tile.memory) for tile in compilation.tiles]
    totals = [tile["memory"]["total"]["excludingGaps"] for tile in tiles]
    places = {
        compute_set.name: number
        for number, compute_set in reversed(list(enumerate(compilation.computeSets)))
    }
    always = sorted(compilation.alwaysLiveVariables, key=lambda variable: -variable.size)
    return {
        "target": {
            "type": _name(compilation.target.type),
            **_attributes(compilation.target, _TARGET),
        },
        "graph": _attributes(compilation.graph, _GRAPH),
        "tiles": tiles,
        "fullestTile": {"tile": totals.index(max(totals))},
        "computeSets": [_compute_set(compute_set) for compute_set in compilation.computeSets],
        "programs": [_program(program, places) for program in compilation.programs],
        "alwaysLiveVariables": _variables(always[:MOST_ALWAYS_LIVE]),
        "livenessProgramSteps": list(_liveness(compilation.livenessProgramSteps)),
    }


def _tile(memory: Any) -> Dict[str, Any]:
    categories = ((name, getattr(memory.category, name, None)) for name in _CATEGORIES)
    return {
        "memory": {
            "total": _gaps(memory.total),
            "overflowed": _gaps(memory.overflowed),
            "alwaysLiveBytes": memory.alwaysLiveBytes,
            "notAlwaysLiveBytes": memory.notAlwaysLiveBytes,
            "category": {name: {"total": c.total} for name, c in categories if c is not None},
        }
    }


def _gaps(size: Any) -> Dict[str, int]:
    return {"includingGaps": size.includingGaps, "excludingGaps": size.excludingGaps}


def _compute_set(compute_set: Any) -> Dict[str, Any]:
    """Count vertices by type, which is much shorter than a list of them."""
    types = [vertex.type for vertex in compute_set.vertices]
    sizes = {kind.name: kind.size for kind in types}
    counts = Counter(kind.name for kind in types)
    vertices = [
        {"type": {"name": name, "size": sizes[name]}, "count": counts[name]}
        for name in sorted(counts)
    ]
    return {"name": compute_set.name, "numVertices": len(types), "vertices": vertices}


def _program(program: Any, places: Dict[str, int]) -> Dict[str, Any]:
    record = {
        "_id": program._id,
        "name": program.name,
        "type": _name(program.type),
        "children": [child._id for child in program.children],
    }
    if record["type"] == "OnTileExecute":
        record["computeset"] = places[program.computeset.name]
    return record


def _liveness(steps: Sequence[Any]) -> Iterator[Dict[str, Any]]:
    """Yield the steps; if there are too many, the fullest of each group."""
    group = math.ceil(len(steps) / MOST_LIVENESS_STEPS) or 1
    for at in range(0, len(steps), group):
        step = max(steps[at : at + group], key=lambda step: step.notAlwaysLiveMemory.bytes)
        live = sorted(step.notAlwaysLiveMemory.variables, key=lambda variable: -variable.size)
        yield {
            "program": step.program._id,
            "notAlwaysLiveMemory": {
                "bytes": step.notAlwaysLiveMemory.bytes,
                "variables": _variables(live[:MOST_LIVE]),
            },
        }


def _execution(execution: Any) -> Dict[str, Any]:
    totals: Dict[int, Dict[str, Any]] = {}
    by_tile: List[float] = []
    runs = []
    for run in execution.runs:
        steps: List[Dict[str, Any]] = []
        for step in run.steps:
            cycles = _cycles(step)
            if len(steps) < MOST_STEPS:
                steps.append({"program": step.program._id, "ipus": _ipus(step), **cycles})
            total = totals.setdefault(
                step.program._id, {"program": step.program._id, "executions": 0, **_cycles(None)}
            )
            total["executions"] += 1
            for name, amount in cycles.items():
                total[name] += amount
            if cycles["computeCycles"]:
                by_tile = _sum(by_tile, getattr(step, "cyclesByTile", []))
        runs.append(
            {
                "name": run.name,
                "microseconds": {"start": run.microseconds.start, "end": run.microseconds.end},
                "truncated": len(run.steps) > len(steps),
                "steps": steps,
            }
        )
    return {
        "runs": runs,
        "totals": list(totals.values()),
        "computeCyclesByTile": by_tile,
        "totalCycles": {"total": execution.totalCycles.total},
    }


def _cycles(step: Any) -> Dict[str, float]:
    """Return the cycles of a step by kind, or zeros for None."""
    cycles = {f"{kind}Cycles": 0.0 for kind in KINDS}
    if step is not None:
        kind = _KIND_OF.get(_name(step.program.type), "compute")
        cycles[f"{kind}Cycles"] = max((ipu.cycles for ipu in step.ipus), default=0)
    return cycles


def _ipus(step: Any) -> List[Dict[str, Any]]:
    return [
        {
            "cycles": ipu.cycles,
            "tileBalance": ipu.tileBalance,
            "activeTileBalance": ipu.activeTileBalance,
            "activeCycles": {
                end: {
                    "min": getattr(ipu.activeCycles, end).min,
                    "max": getattr(ipu.activeCycles, end).max,
                }
                for end in ("cyclesFrom", "cyclesTo")
            },
        }
        for ipu in step.ipus
    ]


def _variables(variables: Sequence[Any]) -> List[Dict[str, Any]]:
    return [{"name": variable.name, "size": variable.size} for variable in variables]


def _attributes(value: Any, names: Sequence[str]) -> Dict[str, Any]:
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _name(value: Any) -> str:
    """Return the name of a member of one of pva's enumerations."""
    return str(getattr(value, "name", None) or str(value).rsplit(".", 1)[-1])


def _sum(before: List[float], more: Sequence[float]) -> List[float]:
    if not before:
        return [float(amount) for amount in more]
    return [a + b for a, b in zip(before, more)]


def _cycles_of(document: Dict[str, Any]) -> float:
    return float(document.get("execution", {"totalCycles": {"total": 0}})["totalCycles"]["total"])
