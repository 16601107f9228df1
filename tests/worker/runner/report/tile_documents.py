"""Profiles of small programs, put together by hand: every figure in them is known."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

CATEGORIES = ("variable", "vertexCode", "internalExchangeCode", "stack")
# name, type, children, cycles of compute, exchange, sync of one execution
STEPS: List[Tuple[str, str, List[int], Tuple[int, int, int]]] = [
    ("", "Sequence", [1, 2], (0, 0, 0)),
    ("arrange", "DoExchange", [], (0, 60, 90)),
    ("", "Repeat", [3, 4], (0, 0, 0)),
    ("layer1/integrate", "OnTileExecute", [], (800, 20, 90)),
    ("readout/integrate", "OnTileExecute", [], (300, 20, 90)),
    ("backward/layer1/adjoint", "OnTileExecute", [], (500, 0, 90)),
]
PASSES = 4
FORWARD = [1, *[3, 4] * PASSES]


def document(tiles: int = 4, ipus: int = 1, emulated: bool = True, **first: Any) -> Dict[str, Any]:
    """A network of one hidden layer and a readout: one forward and one backward run.

    Tile n of the first IPU holds 1000 * (n + 1) bytes of each category; the first tile computes,
    the others idle. `first`: over the fields of the first step with a name.
    """
    sets = [name for name, kind, _, _ in STEPS if kind == "OnTileExecute"]
    programs: List[Dict[str, Any]] = []
    for number, (name, kind, children, _) in enumerate(STEPS):
        program = {"_id": number, "name": name, "type": kind, "children": children}
        if kind == "OnTileExecute":
            program["computeset"] = sets.index(name)
        programs.append(program)
    programs[1].update(first)
    done = {"forward": FORWARD, "backward": [5]}
    executed = [step for run in done.values() for step in run]
    memory = [1000 * (1 + number % tiles) for number in range(tiles * ipus)]
    return {
        "emulated": emulated,
        "compilation": {
            "target": {
                "numIPUs": ipus,
                "tilesPerIpu": tiles,
                "bytesPerTile": 638_976,
                "clockFrequency": 1e9,
            },
            "tiles": [
                {
                    "memory": {
                        "total": {"excludingGaps": 4 * held},
                        "alwaysLiveBytes": 3 * held,
                        "category": {name: {"total": held} for name in CATEGORIES},
                    }
                }
                for held in memory
            ],
            "computeSets": [{"name": name} for name in sets],
            "programs": programs,
            "alwaysLiveVariables": [{"name": "weights", "size": 5000}] * 2,
            "livenessProgramSteps": [
                {
                    "program": number,
                    "notAlwaysLiveMemory": {
                        "bytes": 100 * number,
                        "variables": [{"name": f"of step {number}", "size": 100 * number}],
                    },
                }
                for number in (1, 3, 4, 5)
            ],
        },
        "execution": {
            "runs": [
                {"name": name, "steps": [_step(step, tiles, ipus) for step in steps]}
                for name, steps in done.items()
            ],
            "totals": [
                {"program": step, "executions": executed.count(step), **_cycles(step, executed)}
                for step in sorted(set(executed))
            ],
            "computeCyclesByTile": [4900, *[0] * (tiles * ipus - 1)],
            "totalCycles": {"total": sum(sum(STEPS[step][3]) for step in executed)},
        },
    }


def _cycles(step: int, executed: List[int]) -> Dict[str, int]:
    compute, exchange, sync = (executed.count(step) * cycles for cycles in STEPS[step][3])
    return {
        "computeCycles": compute,
        "exchangeCycles": exchange,
        "syncCycles": sync,
        "hostCycles": 0,
    }


def _step(step: int, tiles: int, ipus: int) -> Dict[str, Any]:
    balance = 1 / tiles if STEPS[step][3][0] else 0
    return {"program": step, **_cycles(step, [step]), "ipus": [{"tileBalance": balance}] * ipus}
