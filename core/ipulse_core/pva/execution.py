"""The report of what ran. Cycles are emulated unless the profile is that of an IPU."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple

from ipulse_core.pva.node import Child, Children, Node, Value
from ipulse_core.pva.programs import (
    ProfiledComputeSet,
    ProfiledProgram,
    ProgramType,
    program_of,
)


class CycleRange(Node):
    """The first and the last cycle at which tiles did something."""

    min = Value(int, "First cycle.")
    max = Value(int, "Last cycle.")


class ActiveCycles(Node):
    """When the tiles of an IPU began and ended a step."""

    cyclesFrom = Child(CycleRange, "Cycles at which tiles began.")
    cyclesTo = Child(CycleRange, "Cycles at which tiles ended.")


class ExecutionStepIPU(Node):
    """One IPU in a step."""

    cycles = Value(int, "Cycles from the first to the last active tile.")
    activeCycles = Child(ActiveCycles, "Beginning and end.")
    tileBalance = Value(float, "Mean over maximum of the tiles' compute cycles, from 0 to 1.")
    activeTileBalance = Value(float, "The same of tiles with vertices.")


class ExecutionStep(Node):
    """A step as it ran. Its cycles are the sum of those of four kinds."""

    ipus = Children(ExecutionStepIPU, "The IPUs of a replica.")
    syncCycles = Value(int, "Cycles of synchronisation.")
    exchangeCycles = Value(int, "Cycles of exchange between tiles.")
    computeCycles = Value(int, "Cycles of the slowest tile's vertices.")
    hostCycles = Value(int, "Cycles of exchange with the host.")

    @property
    def program(self) -> ProfiledProgram:
        """The program of the step."""
        return program_of(self, self._get("program"))

    @property
    def computeSets(self) -> List[ProfiledComputeSet]:
        """The compute set that it executed, in a list; empty for other steps."""
        program = self.program
        return [program.computeset] if program.type is ProgramType.OnTileExecute else []

    @property
    def cycles(self) -> int:
        """Cycles of all four kinds."""
        return self.syncCycles + self.exchangeCycles + self.computeCycles + self.hostCycles


class StepTotal(ExecutionStep):
    """All executions of a step, over all runs. It has no `ipus`."""

    executions = Value(int, "How often it ran.")
    bytesBetweenIpus = Value(int, "Bytes sent between IPUs.")
    flops = Value(int, "Floating-point operations.")

    @property
    def bytesFromHost(self) -> int:
        """Bytes that it copied from the host; 0 if they are not known."""
        return int(self._data.get("bytesFromHost", 0))

    @property
    def bytesToHost(self) -> int:
        """Bytes that it copied to the host; 0 if they are not known."""
        return int(self._data.get("bytesToHost", 0))

    @property
    def computeCyclesByScope(self) -> Dict[str, float]:
        """Cycles of its vertices by the scope of what they write; empty if they are not known."""
        return {name: float(v) for name, v in self._data.get("computeCyclesByScope", {}).items()}


class HostCopies(NamedTuple):
    """The copies between host and device in one direction, over all runs."""

    is_to_host: bool
    executions: int
    total_bytes: int
    cycles: int  # of all four kinds
    host_cycles: int
    sync_cycles: int


class RunMicroseconds(Node):
    """The emulated time of a run in microseconds."""

    start = Value(float, "Its start.")
    end = Value(float, "Its end.")


class EngineRun(Node):
    """A run of the engine."""

    name = Value(str, "Name of the run.")
    microseconds = Child(RunMicroseconds, "Its time.")
    truncated = Value(bool, "Whether steps after the first 5,000 were left out.")
    steps = Children(ExecutionStep, "Its steps in order.")


class BlockExecution(Node):
    """An execution of a `program::Block`, or of what `profiler.programs.filter` selects."""

    cyclesFrom = Value(int, "First cycle.")
    cyclesTo = Value(int, "Last cycle.")

    @property
    def program(self) -> ProfiledProgram:
        """The program that ran."""
        return program_of(self, self._get("program"))

    @property
    def name(self) -> str:
        """Name of the program."""
        return self.program.name


class TotalCycles(Node):
    """Cycles of the device over all runs."""

    total = Value(int, "All cycles.")


class ExecutionReport(Node):
    """The report of the engine's runs."""

    runs = Children(EngineRun, "The first runs, 2 unless an engine option says otherwise.")
    totals = Children(StepTotal, "Every step that ran, summed over all runs.")
    totalCycles = Child(TotalCycles, "Cycles of the device over all runs.")

    @property
    def host_copies(self) -> List[HostCopies]:
        """The copies to the device, then those to the host; none of a direction without bytes."""
        copies = []
        for is_to_host, of in ((False, "bytesFromHost"), (True, "bytesToHost")):
            steps = [total for total in self.totals if getattr(total, of)]
            if steps:
                copies.append(
                    HostCopies(
                        is_to_host,
                        executions=sum(step.executions for step in steps),
                        total_bytes=sum(getattr(step, of) for step in steps),
                        cycles=sum(step.cycles for step in steps),
                        host_cycles=sum(step.hostCycles for step in steps),
                        sync_cycles=sum(step.syncCycles for step in steps),
                    )
                )
        return copies

    @property
    def steps(self) -> List[ExecutionStep]:
        """The steps of all recorded runs."""
        return [step for run in self.runs for step in run.steps]

    def blocks(self, tile: int) -> List[BlockExecution]:
        """Return the blocks of all recorded runs, in the order of their ends.

        Every tile waits at the syncs, so that their cycles are those of any tile.
        Raises IndexError for a tile that the target does not have, AttributeError for a report
        without the compilation, which has the names.
        """
        if "target" not in self._compilation:
            hint = "set autoReport.outputGraphProfile, too"
            raise AttributeError(
                f"blocks need the compilation, which is not in this report: {hint}"
            )
        tiles = self._compilation["target"]["numTiles"]
        if not 0 <= tile < tiles:
            raise IndexError(f"blocks of tile {tile}: the target has {tiles} tiles")
        count = len(self._get("blocks"))
        return [self._child(BlockExecution, "blocks", index) for index in range(count)]

    @property
    def computeCyclesByTile(self) -> List[int]:
        """Compute cycles of each tile, over all runs."""
        cycles: Any = self._get("computeCyclesByTile")
        return [int(value) for value in cycles]
