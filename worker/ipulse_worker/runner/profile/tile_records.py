"""Records of a Poplar program's profile: cycles by kind, steps, layers and runs."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

KINDS = ("compute", "exchange", "sync", "host")


class Cycles(NamedTuple):
    """Device cycles by kind."""

    compute: float = 0.0
    exchange: float = 0.0
    sync: float = 0.0
    host: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all kinds."""
        return sum(self)

    def plus(self, other: Cycles) -> Cycles:
        """Add by kind."""
        return Cycles(*(a + b for a, b in zip(self, other)))

    def times(self, factor: float) -> Cycles:
        """Multiply every kind."""
        return Cycles(*(factor * own for own in self))


class Step(NamedTuple):
    """A step of the programs, summed over all of its executions."""

    name: str
    executions: int
    cycles: Cycles
    # The vertices' cycles by the scope of what they write; empty if they are not known.
    by_scope: Mapping[str, float] = MappingProxyType({})


class Layer(NamedTuple):
    """The cycles of a layer's steps in the forward and the backward pass."""

    name: str
    forward: Cycles
    backward: Cycles

    @property
    def total(self) -> float:
        """The cycles of both passes."""
        return self.forward.total + self.backward.total


class ProfiledRun(NamedTuple):
    """One recorded run with its steps in order."""

    name: str
    programs: Sequence[int]  # of each step
    cycles: np.ndarray  # float64 [steps, kinds]
    is_truncated: bool


def cycles_of(record: Mapping[str, Any]) -> Cycles:
    """Return the cycles of a step or a total of the profile."""
    return Cycles(*(float(record[f"{kind}Cycles"]) for kind in KINDS))
