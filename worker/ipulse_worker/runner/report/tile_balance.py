"""How layers are laid over the tiles, and how long tiles compute and wait."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from ipulse_core.pva.layers import READOUT
from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.report.quantities import count, percent, size
from ipulse_worker.runner.report.tables import ReportTable


def tile_balance(profile: TileProfile, names: Sequence[str]) -> Dict[str, Any]:
    """Return the values of sections/tile_balance.html, each None where it is not known.

    names: those of the hidden layers.
    """
    mapping = profile.tile_mapping
    return {
        "mapping": mapping,
        "mapping_table": None if mapping is None else _mapping_table(mapping, names),
        **_waiting(profile),
    }


def _mapping_table(mapping: Mapping[str, Any], names: Sequence[str]) -> ReportTable:
    layers = mapping["layers"]
    most = max(layer["work"] for layer in layers)
    each = mapping.get("weight_bytes", 4)  # older profiles lack it
    rows: List[List[Any]] = []
    for name, layer in zip([*names, READOUT], layers):
        rows.append(
            [
                name,
                ", ".join(str(ipu) for ipu in layer["ipus"]),
                count(layer["tiles"]),
                count(layer["neurons"]),
                count(layer["most_neurons"]),
                size(each * layer["most_neurons"] * layer["weights_per_neuron"]),
                percent(layer["work"] / most),
            ]
        )
    heads = ["layer", "IPU", "tiles", "neurons", "neurons per tile", "weights per tile", "work"]
    return ReportTable(heads, rows)


def _waiting(profile: TileProfile) -> Dict[str, Optional[Any]]:
    """Return the shares of all cycles in which tiles compute and wait for the busiest one."""
    by_tile, total = profile.compute_by_tile, profile.total
    if not by_tile.any():
        return {"waiting_table": None, "max_over_mean": None}
    order = np.argsort(-by_tile, kind="stable")
    mean = float(by_tile.mean())
    median = int(order[len(order) // 2])
    tiles = [("busiest", int(order[0])), ("median", median), ("least busy", int(order[-1]))]
    rows = [
        _row(f"{name}, tile {tile:,}", float(by_tile[tile]), total.compute, total.total)
        for name, tile in tiles
    ]
    rows.insert(1, _row("mean of all tiles", mean, total.compute, total.total))
    heads = ["tile", "cycles", "computes", "waits for other tiles", "sync, exchange, host"]
    return {
        "waiting_table": ReportTable(heads, rows),
        "max_over_mean": float(by_tile.max()) / mean,
    }


def _row(name: str, cycles: float, compute: float, total: float) -> List[Any]:
    return [
        name,
        count(cycles),
        percent(cycles / total),
        percent((compute - cycles) / total),
        percent((total - compute) / total),
    ]
