"""Memory of tiles and the variables in it. Sizes are bytes."""

from __future__ import annotations

from typing import Iterator, Tuple

from ipulse_core.pva.node import Child, Children, Node, Value


class ReportVariable(Node):
    """A variable and its size."""

    name = Value(str, "Name with its scopes, separated by slashes.")
    size = Value(int, "Bytes on all tiles.")


class MemorySize(Node):
    """Bytes with and without gaps between variables. The emulator leaves no gaps."""

    includingGaps = Value(int, "Bytes including gaps.")
    excludingGaps = Value(int, "Bytes excluding gaps.")


class MemoryCategory(Node):
    """The memory of one category on a tile."""

    total = Value(int, "Bytes.")


class MemoryCategories(Node):
    """The memory of a tile by category. They add up to its total."""

    variable = Child(MemoryCategory, "Variables of the program and of the compiler.")
    constant = Child(MemoryCategory, "Constants.")
    message = Child(MemoryCategory, "Buffers of exchanges between tiles.")
    stack = Child(MemoryCategory, "Stacks of the workers and the supervisor.")
    controlCode = Child(MemoryCategory, "Code of the control program.")
    vertexCode = Child(MemoryCategory, "Code of the vertices.")
    internalExchangeCode = Child(MemoryCategory, "Code of exchanges within an IPU.")
    globalExchangeCode = Child(MemoryCategory, "Code of exchanges between IPUs.")
    hostExchangeCode = Child(MemoryCategory, "Code of exchanges with the host.")
    vertexInstanceState = Child(MemoryCategory, "Fields of the vertices.")
    vertexFieldData = Child(MemoryCategory, "Tables that fields of vertices point to.")

    def __iter__(self) -> Iterator[Tuple[str, MemoryCategory]]:
        """Yield the name and the memory of every category."""
        for name in self._data:
            yield name, self._child(MemoryCategory, name)


class TileMemory(Node):
    """The memory of a tile."""

    total = Child(MemorySize, "All of it.")
    overflowed = Child(MemorySize, "What does not fit into the tile.")
    alwaysLiveBytes = Value(int, "Bytes that are in use throughout.")
    notAlwaysLiveBytes = Value(int, "Most bytes in use at one time of those that are not always.")
    category = Child(MemoryCategories, "Memory by category.")


class ReportTile(Node):
    """A tile."""

    memory = Child(TileMemory, "Its memory.")


class NotAlwaysLiveMemory(Node):
    """The memory of variables that are not always live, at one step of the program."""

    bytes = Value(int, "Bytes on all tiles.")
    maxTileBytes = Value(int, "Bytes on the tile with most of them.")
    tile = Value(int, "That tile.")
    variables = Children(ReportVariable, "The 8 largest that are live at this step.")
