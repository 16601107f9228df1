"""The report of the compiler: target, graph, memory, programs and liveness."""

from __future__ import annotations

from enum import Enum

from ipulse_core.pva.memory import NotAlwaysLiveMemory, ReportTile, ReportVariable
from ipulse_core.pva.node import Child, Children, Node, Value
from ipulse_core.pva.programs import ProfiledComputeSet, ProfiledProgram, program_of


class TargetType(Enum):
    """The type of a target. Emulated IPUs have the type that the program asked for."""

    Unknown = 0
    Cpu = 1
    Ipu = 2
    IpuModel = 3


_TYPES = {"CPU": TargetType.Cpu, "IPU": TargetType.Ipu, "IPU_MODEL": TargetType.IpuModel}


class ReportTarget(Node):
    """The device that the program was compiled for."""

    architecture = Value(str, "Architecture, such as ipu2.")
    numIPUs = Value(int, "IPUs of all replicas.")
    tilesPerIpu = Value(int, "Tiles of an IPU.")
    numTiles = Value(int, "Tiles of all replicas.")
    bytesPerTile = Value(int, "Memory of a tile.")
    bytesPerIPU = Value(int, "Memory of an IPU.")
    totalMemory = Value(int, "Memory of all replicas.")
    clockFrequency = Value(float, "Clock of the tiles in Hz.")
    numReplicas = Value(int, "Number of replicas.")
    ipusPerReplica = Value(int, "IPUs of a replica.")
    tilesPerReplica = Value(int, "Tiles of a replica.")
    interleavedMemoryStart = Value(int, "Offset of a tile's interleaved memory.")

    @property
    def type(self) -> TargetType:
        """The type."""
        return _TYPES.get(str(self._get("type")), TargetType.Unknown)

    @property
    def memoryPerReplica(self) -> int:
        """Memory of a replica."""
        return self.totalMemory // self.numReplicas


class ReportGraph(Node):
    """Sizes of the graph."""

    numComputeSets = Value(int, "Number of compute sets.")
    numEdges = Value(int, "Number of edges, which connect fields of vertices to tensors.")
    numVars = Value(int, "Number of variables.")
    numVertices = Value(int, "Number of vertices.")


class LivenessProgramStep(Node):
    """The live memory at a step of the program."""

    notAlwaysLiveMemory = Child(NotAlwaysLiveMemory, "Memory that is not always live.")

    @property
    def program(self) -> ProfiledProgram:
        """The program of the step."""
        return program_of(self, self._get("program"))


class CompilationReport(Node):
    """The report of the compiler, of one replica."""

    target = Child(ReportTarget, "The device.")
    graph = Child(ReportGraph, "Sizes of the graph.")
    tiles = Children(ReportTile, "The tiles in order.")
    computeSets = Children(ProfiledComputeSet, "The compute sets.")
    programs = Children(ProfiledProgram, "Every step of the programs, once.")
    alwaysLiveVariables = Children(ReportVariable, "The 100 largest that are always live.")
    largestVariables = Children(ReportVariable, "The 20 largest of all.")
    livenessProgramSteps = Children(
        LivenessProgramStep, "Steps in the order of the programs, at most 1,000: the fullest."
    )
