"""Sums over the profile of a Poplar program: by kind of cycles, step, layer and tile.

docs/reference/tile_profile.md describes the document. The
emulator writes it, or pva_profile.py converts it from Poplar's report of an IPU.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np

from ipulse_core.pva.execution import ExecutionReport, HostCopies
from ipulse_core.pva.layers import AROUND, READOUT, TOGETHER, layer_shares
from ipulse_worker.runner.profile.tile_records import (
    Cycles,
    Layer,
    ProfiledRun,
    Step,
    cycles_of,
)

# Memory categories of libpva by purpose; unknown categories count as the last.
CATEGORIES: Mapping[str, Tuple[str, ...]] = {
    "variables": ("variable",),
    "constants": ("constant",),
    "messages": ("message",),
    "vertex state": ("vertexInstanceState", "vertexFieldData"),
    "code": ("vertexCode", "controlCode", "controlId", "controlTable"),
    "exchange code": ("internalExchangeCode", "globalExchangeCode", "hostExchangeCode"),
    "stacks and others": ("stack",),
}
_OTHERS = "stacks and others"

_BACKWARD = re.compile(r"(?:^|/)backward/")


class TileProfile:
    """The profile of one program. `layers` is the number of layers including the readout."""

    def __init__(self, document: Mapping[str, Any], layers: int) -> None:
        self.is_emulated: bool = document["emulated"]
        self._layers = layers
        self._compilation = document["compilation"]
        self._execution = document.get("execution")
        target = self._compilation["target"]
        self.ipus: int = target["numIPUs"]
        self.tiles_per_ipu: int = target["tilesPerIpu"]
        self.bytes_per_tile: int = target["bytesPerTile"]
        self.clock_hz: float = target["clockFrequency"]
        self._programs = {program["_id"]: program for program in self._compilation["programs"]}

    @property
    def has_run(self) -> bool:
        """Return whether anything was executed; otherwise there are no cycles."""
        return self._execution is not None and self.total.total > 0

    def seconds(self, cycles: float) -> float:
        """Convert cycles to seconds by the clock frequency."""
        return cycles / self.clock_hz

    @property
    def steps(self) -> List[Step]:
        """The steps, the most expensive first."""
        steps = [
            Step(
                self.name_of(total["program"]),
                int(total["executions"]),
                cycles_of(total),
                total.get("computeCyclesByScope", {}),
            )
            for total in (self._execution or {}).get("totals", [])
        ]
        return sorted(steps, key=lambda step: -step.cycles.total)

    @property
    def host_copies(self) -> List[HostCopies]:
        """The copies between host and device by direction; empty where none is known."""
        if self._execution is None:
            return []
        return ExecutionReport(self._execution, self._compilation, "execution").host_copies

    @property
    def total(self) -> Cycles:
        """The cycles of all steps."""
        cycles = Cycles()
        for step in self.steps:
            cycles = cycles.plus(step.cycles)
        return cycles

    @property
    def layers(self) -> List[Layer]:
        """Cycles by layer, the readout last; then steps of all layers, and of none.

        A step of several layers is divided between them in proportion to the cycles of their
        vertices, where these are known.
        """
        names = [f"layer {n}" for n in range(1, self._layers)] + [READOUT, TOGETHER, AROUND]
        sums = {name: [Cycles(), Cycles()] for name in names}
        for step in self.steps:
            is_backward = bool(_BACKWARD.search(step.name))
            for name, share in layer_shares(step.name, step.by_scope, self._layers).items():
                sums[name][is_backward] = sums[name][is_backward].plus(step.cycles.times(share))
        rows = [Layer(name, *passes) for name, passes in sums.items()]
        return [row for row in rows if row.total or row.name not in (TOGETHER, AROUND)]

    @property
    def runs(self) -> List[ProfiledRun]:
        """The first recorded run of each name."""
        runs: Dict[str, ProfiledRun] = {}
        for run in (self._execution or {}).get("runs", []):
            if run["steps"] and run["name"] not in runs:
                runs[run["name"]] = ProfiledRun(
                    name=run["name"] or "run",
                    programs=[step["program"] for step in run["steps"]],
                    cycles=np.array([cycles_of(step) for step in run["steps"]], np.float64),
                    is_truncated=run.get("truncated", False),
                )
        return list(runs.values())

    @property
    def first_step(self) -> Optional[float]:
        """The cycles of the first training step; None where its runs are not recorded whole."""
        runs = self.runs
        if not runs or any(run.is_truncated for run in runs):
            return None
        return sum(float(run.cycles.sum()) for run in runs)

    def one_iteration(self, run: ProfiledRun) -> Optional[Tuple[int, int]]:
        """Return the first step and the end of an iteration from the middle of the main loop.

        The main loop is the most expensive one. Returns None for a run without a loop.
        """
        best: Tuple[float, Optional[Tuple[int, int]]] = (0.0, None)
        sums = run.cycles.sum(axis=1)
        for program in self._programs.values():
            if not program["type"].startswith("Repeat"):
                continue
            body = self._descendants(program["_id"])
            within = [at for at, step in enumerate(run.programs) if step in body]
            if not within:
                continue
            starts = [at for at in within if run.programs[at] == run.programs[within[0]]]
            cycles = float(sums[within].sum())
            if len(starts) > 2 and cycles > best[0]:
                middle = len(starts) // 2
                best = (cycles, (starts[middle - 1], starts[middle]))
        return best[1]

    @property
    def balance(self) -> Optional[float]:
        """The fraction of the recorded compute cycles in which the mean tile works."""
        worked = cycles = 0.0
        for run in (self._execution or {}).get("runs", []):
            for step in run["steps"]:
                compute = step["computeCycles"]
                tiles = [ipu["tileBalance"] for ipu in step["ipus"]]
                if compute and tiles:
                    worked += compute * float(np.mean(tiles))
                    cycles += compute
        return worked / cycles if cycles else None

    @property
    def compute_by_tile(self) -> np.ndarray:
        """Compute cycles of all runs, float64 `[tiles]`; empty if they were not counted."""
        return np.array((self._execution or {}).get("computeCyclesByTile", []), np.float64)

    @property
    def tile_mapping(self) -> Optional[Mapping[str, Any]]:
        """The mapping of layers to tiles; None if the profile does not have it."""
        found: Optional[Mapping[str, Any]] = self._compilation.get("tileMapping")
        return found

    @property
    def bytes_by_tile(self) -> np.ndarray:
        """Memory of each tile, float64 `[tiles]`."""
        tiles = self._compilation["tiles"]
        return np.array([tile["memory"]["total"]["excludingGaps"] for tile in tiles], np.float64)

    @property
    def categories(self) -> Dict[str, np.ndarray]:
        """Memory of each tile by category, in bytes, float64 `[tiles]` each."""
        group_of = {name: group for group, names in CATEGORIES.items() for name in names}
        tiles = self._compilation["tiles"]
        sums = {group: np.zeros(len(tiles)) for group in CATEGORIES}
        for at, tile in enumerate(tiles):
            for name, category in tile["memory"]["category"].items():
                sums[group_of.get(name, _OTHERS)][at] += category["total"]
        return sums

    @property
    def always_live(self) -> float:
        """Always-live memory of all tiles, in bytes."""
        return float(sum(tile["memory"]["alwaysLiveBytes"] for tile in self._compilation["tiles"]))

    @property
    def liveness(self) -> List[Tuple[str, float]]:
        """Temporary memory of all tiles by step of the programs: (name, bytes)."""
        return [
            (self.name_of(step["program"]), float(step["notAlwaysLiveMemory"]["bytes"]))
            for step in self._compilation["livenessProgramSteps"]
        ]

    @property
    def fullest_step_variables(self) -> List[Tuple[str, float]]:
        """The temporary variables at the step with the most of them: (name, bytes)."""
        steps = self._compilation["livenessProgramSteps"]
        if not steps:
            return []
        fullest = max(steps, key=lambda step: step["notAlwaysLiveMemory"]["bytes"])
        return _variables(fullest["notAlwaysLiveMemory"]["variables"])

    @property
    def always_live_variables(self) -> List[Tuple[str, float]]:
        """The variables that live during all steps: (name, bytes)."""
        return _variables(self._compilation["alwaysLiveVariables"])

    def name_of(self, program: int) -> str:
        """Return a step's name, or its type if it has no name."""
        step = self._programs[program]
        if "computeset" in step:
            return str(self._compilation["computeSets"][step["computeset"]]["name"])
        return str(step["name"] or step["type"])

    def _descendants(self, program: int) -> Set[int]:
        return set(self._each_descendant(program))

    def _each_descendant(self, program: int) -> Iterator[int]:
        for child in self._programs[program]["children"]:
            yield child
            yield from self._each_descendant(child)


def _variables(listed: Sequence[Mapping[str, Any]]) -> List[Tuple[str, float]]:
    """Sum the sizes of variables with the same name."""
    sums: Dict[str, float] = {}
    for variable in listed:
        sums[variable["name"]] = sums.get(variable["name"], 0.0) + variable["size"]
    return sorted(sums.items(), key=lambda pair: -pair[1])
