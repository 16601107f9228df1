"""Figures of a profile that conditions and differences name: cycles and memory."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple

from ipulse_core.pva.execution import ExecutionReport
from ipulse_core.pva.report import Report


class Figure(NamedTuple):
    """A figure of a profile."""

    unit: str  # "cycles", "bytes" or "" for a ratio
    meaning: str
    of: Callable[[Report], float]


def tile_bytes(report: Report) -> List[int]:
    """Return the memory of each tile in bytes."""
    return [tile.memory.total.includingGaps for tile in report.compilation.tiles]


def _tile_balance(report: Report) -> float:
    cycles = report.execution.computeCyclesByTile
    return sum(cycles) / len(cycles) / max(cycles) if any(cycles) else 1.0


def _sum_of(kind: str) -> Callable[[Report], float]:
    def cycles(report: Report) -> float:
        execution: ExecutionReport = report.execution
        return float(sum(getattr(total, kind) for total in execution.totals))

    return cycles


FIGURES: Mapping[str, Figure] = {
    "cycles": Figure(
        "cycles", "cycles of all runs", lambda report: float(report.execution.totalCycles.total)
    ),
    "compute_cycles": Figure("cycles", "of vertices", _sum_of("computeCycles")),
    "exchange_cycles": Figure("cycles", "of exchange between tiles", _sum_of("exchangeCycles")),
    "sync_cycles": Figure("cycles", "of synchronisation", _sum_of("syncCycles")),
    "host_cycles": Figure("cycles", "of exchange with the host", _sum_of("hostCycles")),
    "max_tile_memory": Figure(
        "bytes", "memory of the fullest tile", lambda report: float(max(tile_bytes(report)))
    ),
    "total_memory": Figure(
        "bytes", "memory of all tiles", lambda report: float(sum(tile_bytes(report)))
    ),
    "always_live_memory": Figure(
        "bytes",
        "memory that is in use throughout",
        lambda report: float(sum(t.memory.alwaysLiveBytes for t in report.compilation.tiles)),
    ),
    "tile_balance": Figure(
        "", "mean over maximum of the tiles' compute cycles, from 0 to 1", _tile_balance
    ),
}


def figures_of(report: Report) -> Dict[str, float]:
    """Return the figures of a report by name; without those of a part that the report lacks."""
    found: Dict[str, float] = {}
    for name, figure in FIGURES.items():
        try:
            found[name] = figure.of(report)
        except AttributeError:  # nothing ran, or the file has only what ran
            continue
    return found


def figure_text(name: str, value: float) -> str:
    """Return the value with its unit."""
    unit = FIGURES[name].unit
    return f"{value:,.0f} {unit}" if unit else f"{value:.3f}"
