"""Poplar's own report of a program, read with Graphcore's `pva` into the document of
docs/reference/profile.md: what an emulator says of a program, an IPU says in the same words.

Only what the documentation of libpva names is asked for; what it names and a version lacks is left
out.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ipulse_worker.runner.profile.tile_profile import CATEGORIES, KINDS

MOST_STEPS = 5000  # kept of a run
MOST_LIVENESS_STEPS = 1000
MOST_ALWAYS_LIVE = 100
MOST_LIVE = 8  # variables of a step

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
}  # of every other step the tiles compute


def dearest(reports: Path) -> Optional[Dict[str, Any]]:
    """The document of the program with most cycles, of those in a directory of reports.

    None if Poplar left none. Raises ImportError where there is no `pva`.
    """
    profiles = sorted(reports.glob("tf_report_*/profile.pop"))
    debug = reports / "debug.cbor"
    documents = [read(profile, debug if debug.exists() else None) for profile in profiles]
    return max(documents, key=_cycles_of, default=None)


def read(profile: Path, debug: Optional[Path] = None) -> Dict[str, Any]:
    """The document. Raises ImportError where there is no `pva`."""
    import pva  # type: ignore[import-not-found] # of the Poplar SDK

    report = pva.openReport(str(profile), *([str(debug)] if debug else []))
    document = {"emulated": False, "compilation": _compilation(report.compilation)}
    execution = _section(report, "execution")
    if execution is not None:
        document["execution"] = _execution(execution)
    return document


def _section(report: Any, name: str) -> Any:
    """None for what was not recorded, of which pva also says so by an error of its own."""
    try:
        return getattr(report, name)
    except Exception:  # noqa: BLE001 - its class is not documented
        return None


def _compilation(compilation: Any) -> Dict[str, Any]:
    tiles = [_tile(tile.memory) for tile in compilation.tiles]
    totals = [tile["memory"]["total"]["excludingGaps"] for tile in tiles]
    places = {
        one.name: number for number, one in reversed(list(enumerate(compilation.computeSets)))
    }
    always = sorted(compilation.alwaysLiveVariables, key=lambda variable: -variable.size)
    return {
        "target": {"type": _name(compilation.target.type), **_those(compilation.target, _TARGET)},
        "graph": _those(compilation.graph, _GRAPH),
        "tiles": tiles,
        "fullestTile": {"tile": totals.index(max(totals))},
        "computeSets": [_compute_set(one) for one in compilation.computeSets],
        "programs": [_program(one, places) for one in compilation.programs],
        "alwaysLiveVariables": _variables(always[:MOST_ALWAYS_LIVE]),
        "livenessProgramSteps": list(_liveness(compilation.livenessProgramSteps)),
    }


def _tile(memory: Any) -> Dict[str, Any]:
    found = ((name, getattr(memory.category, name, None)) for name in _CATEGORIES)
    return {
        "memory": {
            "total": _gaps(memory.total),
            "overflowed": _gaps(memory.overflowed),
            "alwaysLiveBytes": memory.alwaysLiveBytes,
            "notAlwaysLiveBytes": memory.notAlwaysLiveBytes,
            "category": {name: {"total": one.total} for name, one in found if one is not None},
        }
    }


def _gaps(size: Any) -> Dict[str, int]:
    return {"includingGaps": size.includingGaps, "excludingGaps": size.excludingGaps}


def _compute_set(one: Any) -> Dict[str, Any]:
    """Vertices by type, since one by one they would be most of a profile."""
    types = [vertex.type for vertex in one.vertices]
    sizes = {kind.name: kind.size for kind in types}
    counts = Counter(kind.name for kind in types)
    vertices = [
        {"type": {"name": name, "size": sizes[name]}, "count": counts[name]}
        for name in sorted(counts)
    ]
    return {"name": one.name, "numVertices": len(types), "vertices": vertices}


def _program(program: Any, places: Dict[str, int]) -> Dict[str, Any]:
    found = {
        "_id": program._id,
        "name": program.name,
        "type": _name(program.type),
        "children": [child._id for child in program.children],
    }
    if found["type"] == "OnTileExecute":
        found["computeset"] = places[program.computeset.name]
    return found


def _liveness(steps: Sequence[Any]) -> Iterator[Dict[str, Any]]:
    """Of too many steps the fullest of each group."""
    group = math.ceil(len(steps) / MOST_LIVENESS_STEPS) or 1
    for at in range(0, len(steps), group):
        step = max(steps[at : at + group], key=lambda one: one.notAlwaysLiveMemory.bytes)
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
    """By kind; nothing of no step."""
    found = {f"{kind}Cycles": 0.0 for kind in KINDS}
    if step is not None:
        kind = _KIND_OF.get(_name(step.program.type), "compute")
        found[f"{kind}Cycles"] = max((ipu.cycles for ipu in step.ipus), default=0)
    return found


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


def _those(one: Any, names: Sequence[str]) -> Dict[str, Any]:
    return {name: getattr(one, name) for name in names if hasattr(one, name)}


def _name(value: Any) -> str:
    """Of a member of one of pva's enumerations."""
    return str(getattr(value, "name", None) or str(value).rsplit(".", 1)[-1])


def _sum(before: List[float], more: Sequence[float]) -> List[float]:
    if not before:
        return [float(amount) for amount in more]
    return [a + b for a, b in zip(before, more)]


def _cycles_of(document: Dict[str, Any]) -> float:
    return float(document.get("execution", {"totalCycles": {"total": 0}})["totalCycles"]["total"])
