"""What the profile of a Poplar program says, in sums: by kind of cycles, step, layer and tile.

The schema of the document is docs/reference/profile.md, "The profile of an emulated program".
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

KINDS = ("compute", "exchange", "sync", "host")

# Memory categories of libpva by what they are for; others count as the last.
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

AROUND = "around the layers"
TOGETHER = "all layers together"
_LAYER = re.compile(r"(?:^|/)layer(\d+)/")
_STAGE = re.compile(r"(?:^|/)stage(\d+)/")
_BACKWARD = re.compile(r"(?:^|/)backward/")


class Cycles(NamedTuple):
    """Device cycles by what they were spent on."""

    compute: float = 0.0
    exchange: float = 0.0
    sync: float = 0.0
    host: float = 0.0

    @property
    def total(self) -> float:
        return sum(self)

    def plus(self, other: Cycles) -> Cycles:
        return Cycles(*(a + b for a, b in zip(self, other)))


class Step(NamedTuple):
    """A step of the programs, over all of its executions."""

    name: str
    executions: int
    cycles: Cycles


class Layer(NamedTuple):
    """What a layer's steps took, in the forward and in the backward pass."""

    name: str
    forward: Cycles
    backward: Cycles

    @property
    def total(self) -> float:
        return self.forward.total + self.backward.total


class Run(NamedTuple):
    """One recorded run: its steps one after the other."""

    name: str
    programs: Sequence[int]  # of each step
    cycles: np.ndarray  # float64 [steps, kinds]
    is_truncated: bool


class TileProfile:
    """Of one program. `layers`: how many the network has, the readout included."""

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
        """Whether anything was executed, without which there are no cycles."""
        return self._execution is not None and self.total.total > 0

    def seconds(self, cycles: float) -> float:
        """What so many cycles take at the clock."""
        return cycles / self.clock_hz

    # Cycles.

    @property
    def steps(self) -> List[Step]:
        """The dearest first."""
        found = [
            Step(self.name_of(total["program"]), int(total["executions"]), _cycles(total))
            for total in (self._execution or {}).get("totals", [])
        ]
        return sorted(found, key=lambda step: -step.cycles.total)

    @property
    def total(self) -> Cycles:
        cycles = Cycles()
        for step in self.steps:
            cycles = cycles.plus(step.cycles)
        return cycles

    @property
    def layers(self) -> List[Layer]:
        """By layer, the last one being the readout; then what belongs to all, and to none."""
        names = [f"layer {n}" for n in range(1, self._layers)] + ["readout", TOGETHER, AROUND]
        found = {name: [Cycles(), Cycles()] for name in names}
        for step in self.steps:
            name = self._layer_of(step.name)
            is_backward = bool(_BACKWARD.search(step.name))
            found[name][is_backward] = found[name][is_backward].plus(step.cycles)
        rows = [Layer(name, *passes) for name, passes in found.items()]
        return [row for row in rows if row.total or row.name not in (TOGETHER, AROUND)]

    @property
    def runs(self) -> List[Run]:
        """The first recorded one of each name."""
        found: Dict[str, Run] = {}
        for run in (self._execution or {}).get("runs", []):
            if run["steps"] and run["name"] not in found:
                found[run["name"]] = Run(
                    name=run["name"] or "run",
                    programs=[step["program"] for step in run["steps"]],
                    cycles=np.array([_cycles(step) for step in run["steps"]], np.float64),
                    is_truncated=run.get("truncated", False),
                )
        return list(found.values())

    def one_pass(self, run: Run) -> Optional[Tuple[int, int]]:
        """Where in a run a pass of its dearest loop begins and ends, one from its middle."""
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
        """Of the recorded compute cycles, how much of them the mean tile works."""
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
        """Cycles, float64 `[tiles]`, over all runs; empty if nobody counted them."""
        return np.array((self._execution or {}).get("computeCyclesByTile", []), np.float64)

    # Memory.

    @property
    def bytes_by_tile(self) -> np.ndarray:
        """Float64 `[tiles]`."""
        tiles = self._compilation["tiles"]
        return np.array([tile["memory"]["total"]["excludingGaps"] for tile in tiles], np.float64)

    @property
    def categories(self) -> Dict[str, np.ndarray]:
        """Bytes of each tile by what they are for, float64 `[tiles]` each."""
        group_of = {name: group for group, names in CATEGORIES.items() for name in names}
        tiles = self._compilation["tiles"]
        found = {group: np.zeros(len(tiles)) for group in CATEGORIES}
        for at, tile in enumerate(tiles):
            for name, category in tile["memory"]["category"].items():
                found[group_of.get(name, _OTHERS)][at] += category["total"]
        return found

    @property
    def always_live(self) -> float:
        """Bytes of all tiles."""
        return float(sum(tile["memory"]["alwaysLiveBytes"] for tile in self._compilation["tiles"]))

    @property
    def liveness(self) -> List[Tuple[str, float]]:
        """Of the program's steps in order: name, and bytes of all tiles that live only for now."""
        return [
            (self.name_of(step["program"]), float(step["notAlwaysLiveMemory"]["bytes"]))
            for step in self._compilation["livenessProgramSteps"]
        ]

    @property
    def fullest_step_variables(self) -> List[Tuple[str, float]]:
        """What lives at the step with the most of it."""
        steps = self._compilation["livenessProgramSteps"]
        if not steps:
            return []
        fullest = max(steps, key=lambda step: step["notAlwaysLiveMemory"]["bytes"])
        return _variables(fullest["notAlwaysLiveMemory"]["variables"])

    @property
    def always_live_variables(self) -> List[Tuple[str, float]]:
        return _variables(self._compilation["alwaysLiveVariables"])

    def name_of(self, program: int) -> str:
        """A step's name, or its kind where it has none."""
        found = self._programs[program]
        if "computeset" in found:
            return str(self._compilation["computeSets"][found["computeset"]]["name"])
        return str(found["name"] or found["type"])

    def _layer_of(self, name: str) -> str:
        layer, stage = _LAYER.search(name), _STAGE.search(name)
        if layer:
            return self._named(int(layer[1]))
        if stage is None:
            return AROUND
        # With a delay of one step there is a single stage, in which all layers go along.
        return self._named(int(stage[1])) if self._stages == self._layers else TOGETHER

    def _named(self, number: int) -> str:
        return "readout" if number + 1 >= self._layers else f"layer {number + 1}"

    @property
    def _stages(self) -> int:
        found = (_STAGE.search(one["name"]) for one in self._compilation["computeSets"])
        return len({stage[1] for stage in found if stage})

    def _descendants(self, program: int) -> Set[int]:
        return set(self._each_descendant(program))

    def _each_descendant(self, program: int) -> Iterator[int]:
        for child in self._programs[program]["children"]:
            yield child
            yield from self._each_descendant(child)


def _cycles(record: Mapping[str, Any]) -> Cycles:
    return Cycles(*(float(record[f"{kind}Cycles"]) for kind in KINDS))


def _variables(listed: Sequence[Mapping[str, Any]]) -> List[Tuple[str, float]]:
    """Those of one name are one."""
    sums: Dict[str, float] = {}
    for variable in listed:
        sums[variable["name"]] = sums.get(variable["name"], 0.0) + variable["size"]
    return sorted(sums.items(), key=lambda pair: -pair[1])
