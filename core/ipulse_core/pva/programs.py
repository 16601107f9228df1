"""The steps of the programs, compute sets and vertices."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, ClassVar, List, Type

from ipulse_core.pva.node import Node, Value


class ProgramType(Enum):
    """libpva's types of program steps. Unknown: the type has no name there, such as PrintTensor."""

    Unknown = 0
    OnTileExecute = 1
    DoExchange = 2
    GlobalExchange = 3
    StreamCopyBegin = 4
    StreamCopyMid = 5
    StreamCopyEnd = 6
    Sync = 7
    SyncAns = 8
    Call = 9
    Sequence = 10
    Repeat = 11
    RepeatWhile = 12
    If = 13
    IfElse = 14
    Switch = 15


class ProfiledVertexType(Node):
    """The type of a vertex."""

    name = Value(str, "Class with its template arguments.")
    size = Value(int, "Bytes of its state on the tile.")


class ProfiledVertex:
    """A vertex of a compute set. The profile does not contain its tile."""

    def __init__(self, type: ProfiledVertexType) -> None:
        """Describe a vertex of this type."""
        self.type = type

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.type.name!r}>"


class ProfiledComputeSet(Node):
    """A compute set."""

    name = Value(str, "Name with its scopes.")
    numVertices = Value(int, "Number of vertices.")

    @property
    def vertices(self) -> List[ProfiledVertex]:
        """The vertices, those of equal type one after another."""
        made: List[ProfiledVertex] = []
        for entry in self._get("vertices"):
            kind = ProfiledVertexType(entry["type"], self._compilation, f"{self._where}.vertices")
            made += [ProfiledVertex(kind) for _ in range(int(entry["count"]))]
        return made


class ProfiledProgram(Node):
    """A step of the programs, available as `pva.Program`."""

    Type: ClassVar[Type[ProgramType]] = ProgramType

    name = Value(str, "Name of the compute set, the copy or the control step.")
    _id = Value(int, "Its place in `compilation.programs`.")

    @property
    def type(self) -> ProgramType:
        """The type."""
        name = self._get("type")
        return ProgramType.__members__.get(name, ProgramType.Unknown)

    @property
    def label(self) -> str:
        """The name of its compute set, else its own name, else its type."""
        if "computeset" in self._data:
            return self.computeset.name
        return self.name or str(self._get("type"))

    @property
    def children(self) -> List[ProfiledProgram]:
        """The steps of a Sequence, the bodies of a loop or a condition."""
        return [program_of(self, index) for index in self._get("children")]

    @property
    def computeset(self) -> ProfiledComputeSet:
        """The compute set of an OnTileExecute."""
        index = self._get("computeset")
        where = f"compilation.computeSets[{index}]"
        return ProfiledComputeSet(self._compilation["computeSets"][index], self._compilation, where)

    @property
    def count(self) -> int:
        """How often a Repeat runs its body."""
        return int(self._get("count"))

    def accept(self, visitor: ProgramVisitor) -> Any:
        """Call the visitor's function of this type and return its result."""
        return getattr(visitor, f"visit{self.type.name}")(self)


class ProgramVisitor:
    """Visits programs by type. Its functions, `visitOnTileExecute` and others, do nothing."""

    def __getattr__(self, name: str) -> Any:
        if re.fullmatch("visit(" + "|".join(ProgramType.__members__) + ")", name):
            return lambda program: None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def program_of(node: Node, index: int) -> ProfiledProgram:
    """Return the program `index` of the node's report."""
    programs = node._compilation.get("programs")
    if programs is None:
        raise AttributeError(f"{node._where}.program: the report has no compilation")
    return ProfiledProgram(programs[index], node._compilation, f"compilation.programs[{index}]")
