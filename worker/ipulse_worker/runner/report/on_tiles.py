"""The Poplar program on the tiles of its IPUs: memory, compute and balance."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import layer_name
from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.report.cycles_spent import cycles_spent
from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.plots.tile_plots import (
    MOST_COLUMNS,
    MOST_MAPS,
    memory_columns,
    tile_map,
)
from ipulse_worker.runner.report.quantities import count, percent, size
from ipulse_worker.runner.report.tables import Cell, ReportTable
from ipulse_worker.runner.report.tile_balance import tile_balance
from ipulse_worker.runner.results.results import Results

CATEGORY_COLOURS = {
    "variables": 1,
    "constants": 3,
    "messages": 2,
    "vertex state": 4,
    "code": 5,
    "exchange code": 6,
    "stacks and others": 0,
}
MOST_VARIABLES = 10
_CURVE_POINTS = 200


def on_tiles(results: Results) -> Optional[Dict[str, Any]]:
    """Return the values of sections/tiles.html; None without a Poplar program."""
    if results.poplar_profile is None:
        return None
    layers = results.spec.network.layers
    profile = TileProfile(results.poplar_profile, layers=1 + len(layers))
    names = [layer_name(at, len(layers), field_of(one, "name")) for at, one in enumerate(layers)]
    return {
        "is_emulated": profile.is_emulated,
        "trains_on_host": field_of(results.spec.device, "training") == "host",
        "ipus": profile.ipus,
        "drawn_ipus": MOST_MAPS,
        "tiles_per_ipu": profile.tiles_per_ipu,
        "clock_hz": profile.clock_hz,
        "cycles": cycles_spent(profile, names) if profile.has_run else None,
        "step": _step(results.profile["execution"].get("step_cycles")),
        **_memory(profile),
        **_compute(profile),
        "balance": tile_balance(profile, names),
    }


def _step(cycles: Optional[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """Return the cycles of a training step, counted and predicted; None where neither is known."""
    if cycles is None or not (cycles["counted"] or cycles["predicted"]):
        return None
    counted, predicted = cycles["counted"], cycles["predicted"]
    rows: List[List[Union[str, Cell]]] = []
    if predicted is not None:
        rows = [
            [
                layer["name"] or "around the layers",
                count(layer["forward"]),
                count(layer["backward"]),
            ]
            for layer in predicted["layers"]
        ]
    return {
        "counted": counted,
        "predicted": None if predicted is None else predicted["cycles"],
        "not_predicted": cycles["not_predicted"],
        "ratio": predicted["cycles"] / counted if predicted and counted else None,
        "table": ReportTable(["predicted for a step", "forward", "backward"], rows),
    }


def _memory(profile: TileProfile) -> Dict[str, Any]:
    by_tile, categories = profile.bytes_by_tile, profile.categories
    fullest = int(np.argmax(by_tile))
    most, tiles = float(by_tile[fullest]), len(by_tile)
    memory_map = tile_map(
        by_tile,
        profile.tiles_per_ipu,
        most,
        1,
        ("0", f"{size(most)}, tile {fullest:,}"),
        fullest,
        f"Memory of each tile; the fullest is tile {fullest}",
    )
    return {
        "bytes": by_tile.sum(),
        "fullest": fullest,
        "fullest_bytes": most,
        "bytes_per_tile": profile.bytes_per_tile,
        "largest_category": max(categories, key=lambda name: float(categories[name][fullest])),
        "overfull": int((by_tile > profile.bytes_per_tile).sum()),
        "memory_map": memory_map,
        "last_tile": tiles - 1,
        "is_grouped": tiles > MOST_COLUMNS,
        "memory_columns": memory_columns(categories, CATEGORY_COLOURS),
        "category_table": _category_table(categories, fullest),
        **_liveness(profile.liveness),
        "variable_table": _variable_table("always live", profile.always_live_variables),
        "live_table": _variable_table("live at the fullest step", profile.fullest_step_variables),
    }


def _compute(profile: TileProfile) -> Dict[str, Any]:
    """Return a map and a curve of the tiles' compute cycles; None where they were not counted."""
    cycles = profile.compute_by_tile
    if not cycles.size or not cycles.any():
        return {"compute_map": None, "balance_plot": None}
    busiest = int(np.argmax(cycles))
    most = float(cycles[busiest])
    shares = 100 * np.sort(cycles)[::-1] / most
    at = np.unique(np.linspace(0, len(shares) - 1, _CURVE_POINTS).astype(int))
    mean = float(shares.mean())
    series: List[charts.Series] = [
        ("a tile", "s1", shares[at].tolist()),
        (f"mean {mean:.0f} %", "s0", [mean] * len(at)),
    ]
    compute_map = tile_map(
        cycles,
        profile.tiles_per_ipu,
        most,
        2,
        ("0", f"{count(most)} cycles, tile {busiest:,}"),
        busiest,
        f"Compute cycles of each tile; the busiest is tile {busiest}",
    )
    balance_plot = charts.curves(
        series,
        (100 * (at + 1) / len(shares)).tolist(),
        "tiles, the busiest first (%)",
        "cycles (% of the busiest)",
        (0.0, 100.0),
        "Compute cycles of the tiles, sorted from the busiest to the least busy",
    )
    return {"compute_map": compute_map, "balance_plot": balance_plot}


def _category_table(categories: Dict[str, np.ndarray], fullest: int) -> ReportTable:
    whole = sum(float(amounts.sum()) for amounts in categories.values())
    rows: List[List[Union[str, Cell]]] = [
        [
            Cell(name, colour=CATEGORY_COLOURS[name]),
            size(amounts.sum()),
            percent(float(amounts.sum()) / whole),
            size(amounts[fullest]),
        ]
        for name, amounts in categories.items()
    ]
    return ReportTable(["memory", "all tiles", "share", "fullest tile"], rows)


def _liveness(liveness: List[Tuple[str, float]]) -> Dict[str, Any]:
    """Return a curve of temporary memory over the programs' steps, and its peak."""
    if not liveness:
        return {"liveness_plot": None, "peak": None}
    in_bytes = np.array([bytes_ for _, bytes_ in liveness])
    unit, divisor = ("KiB", 1024) if in_bytes.max() < 1000 * 1024 else ("MiB", 1024**2)
    amounts = in_bytes / divisor
    group = -(-len(amounts) // _CURVE_POINTS)
    largest = [float(amounts[at : at + group].max()) for at in range(0, len(amounts), group)]
    peak = int(np.argmax(amounts))
    series: List[charts.Series] = [("all tiles", "s1", largest)]
    plot = charts.curves(
        series,
        [float(at) for at in range(0, len(amounts), group)],
        "step of the programs",
        unit,
        charts.zero_range(series),
        "Memory that is not always live at each step",
        whole=True,
    )
    where = {"step": peak, "name": liveness[peak][0], "bytes": in_bytes[peak]}
    return {"liveness_plot": plot, "peak": where}


def _variable_table(title: str, variables: List[Tuple[str, float]]) -> ReportTable:
    rows = [[name or "without a name", size(b)] for name, b in variables[:MOST_VARIABLES]]
    rest = variables[MOST_VARIABLES:]
    if rest:
        rows.append([f"{len(rest):,} more", size(sum(bytes_ for _, bytes_ in rest))])
    return ReportTable([title, "all tiles"], rows)
