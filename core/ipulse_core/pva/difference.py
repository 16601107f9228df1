"""The difference of two profiles by figure, program, layer and tile."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.pva.figures import FIGURES, figures_of, tile_bytes
from ipulse_core.pva.layers import AROUND, layer_shares
from ipulse_core.pva.report import Report

_TARGET = ("architecture", "numIPUs", "tilesPerIpu", "numReplicas")


class Change(NamedTuple):
    """A value before and after; None where it does not exist."""

    name: str
    before: Optional[float]
    after: Optional[float]

    @property
    def amount(self) -> float:
        """The difference; a missing value counts as 0."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def ratio(self) -> Optional[float]:
        """The relative change, or None if there was nothing before."""
        return self.amount / self.before if self.before else None

    def to_json(self) -> Dict[str, Any]:
        """Return it as JSON; `relative` is null if there was nothing before."""
        return {
            "name": self.name,
            "before": self.before,
            "after": self.after,
            "change": self.amount,
            "relative": self.ratio,
        }


class ProfileDifference:
    """The differences of two profiles. The lists contain only what changed, largest first."""

    def __init__(self, before: Report, after: Report) -> None:
        """Compare two reports."""
        self.before, self.after = figures_of(before), figures_of(after)
        names = [name for name in FIGURES if name in self.before or name in self.after]
        self.figures = [Change(n, self.before.get(n), self.after.get(n)) for n in names]
        self.programs = _changed(_by_program(before), _by_program(after))
        self.layers = _changed(_by_layer(before), _by_layer(after))
        self.tile_memory = _changed(_by_tile(_memory(before)), _by_tile(_memory(after)))
        self.tile_cycles = _changed(_by_tile(_cycles(before)), _by_tile(_cycles(after)))

    @property
    def is_empty(self) -> bool:
        """True if nothing changed."""
        changes = (*self.programs, *self.layers, *self.tile_memory, *self.tile_cycles)
        return not changes and self.before == self.after

    def to_json(self) -> Dict[str, Any]:
        """Return all of it as JSON."""
        return {
            name: [change.to_json() for change in getattr(self, name)]
            for name in ("figures", "programs", "layers", "tile_memory", "tile_cycles")
        }


def unlike_targets(before: Report, after: Report) -> List[str]:
    """Return how the targets of two reports differ, in words; empty if they are alike."""
    pairs = [(name, _target_value(before, name), _target_value(after, name)) for name in _TARGET]
    return [f"{name} is {a} and {b}" for name, a, b in pairs if a != b]


def _target_value(report: Report, name: str) -> Any:
    try:
        return getattr(report.compilation.target, name)
    except AttributeError:
        return None


def _by_program(report: Report) -> Dict[str, float]:
    sums: Dict[str, float] = {}
    for name, cycles, _ in _totals(report):
        sums[name] = sums.get(name, 0.0) + cycles
    return sums


def _by_layer(report: Report) -> Dict[str, float]:
    sums: Dict[str, float] = {}
    for name, cycles, by_scope in _totals(report):
        for layer, share in layer_shares(name, by_scope).items():
            sums[layer] = sums.get(layer, 0.0) + share * cycles
    return {} if set(sums) == {AROUND} else sums  # a program without layers has none


def _totals(report: Report) -> List[Tuple[str, float, Mapping[str, float]]]:
    try:
        totals = report.execution.totals
        return [(t.program.label, float(t.cycles), t.computeCyclesByScope) for t in totals]
    except AttributeError:
        return []


def _memory(report: Report) -> Sequence[float]:
    try:
        return tile_bytes(report)
    except AttributeError:
        return []


def _cycles(report: Report) -> Sequence[float]:
    try:
        return report.execution.computeCyclesByTile
    except AttributeError:
        return []


def _by_tile(values: Sequence[float]) -> Dict[str, float]:
    return {f"tile {tile}": float(value) for tile, value in enumerate(values)}


def _changed(before: Mapping[str, float], after: Mapping[str, float]) -> List[Change]:
    names = dict.fromkeys((*before, *after))
    changes = [Change(name, before.get(name), after.get(name)) for name in names]
    return sorted((c for c in changes if c.before != c.after), key=lambda c: -abs(c.amount))
