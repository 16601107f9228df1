"""What the Poplar program did on the tiles of its IPUs: cycles, exchange, memory."""

from __future__ import annotations

import pkgutil
from html import escape
from string import Template
from typing import Dict, List, Tuple

import numpy as np

from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.report import plots
from ipulse_worker.runner.report.cycles_spent import cycles_spent
from ipulse_worker.runner.report.quantities import count, percent, size
from ipulse_worker.runner.report.tables import swatch, table
from ipulse_worker.runner.report.tile_plots import MOST_COLUMNS, MOST_MAPS, memory_columns, tile_map
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


def on_tiles(results: Results) -> Dict[str, str]:
    """The whole section; empty where no Poplar program ran."""
    if results.poplar_profile is None:
        return {"tiles_section": ""}
    profile = TileProfile(results.poplar_profile, layers=1 + len(results.spec.network.layers))
    template = pkgutil.get_data(__package__, "tiles.html")
    if template is None:
        raise FileNotFoundError("tiles.html is missing beside page.py: install the package again")
    of = "emulated, " if profile.is_emulated else ""
    parts = {
        "label": "emulated" if profile.is_emulated else "measured",
        "of": of,
        "words": escape(f"{_origin(profile)} {_memory_words(profile)}"),
        "execution": cycles_spent(profile, of) if profile.has_run else "",
        **_memory(profile),
        **_compute(profile, of),
    }
    section = Template(template.decode("utf-8")).substitute(parts)
    return {"tiles_section": section}


def _origin(profile: TileProfile) -> str:
    machine = f"{profile.ipus} IPU{'' if profile.ipus == 1 else 's'} of "
    machine += f"{profile.tiles_per_ipu:,} tiles at {profile.clock_hz / 1e6:,.0f} MHz"
    if profile.is_emulated:
        return (
            f"The Poplar op on {machine}, as the emulator's models have it: nothing in this "
            "section was measured on an IPU. Loss and optimizer ran on the host and are not in it."
        )
    return f"The Poplar program on {machine}, from the report that Poplar wrote."


def _memory_words(profile: TileProfile) -> str:
    by_tile = profile.bytes_by_tile
    fullest = int(np.argmax(by_tile))
    most, room = float(by_tile[fullest]), profile.bytes_per_tile
    largest = max(profile.categories.items(), key=lambda group: float(group[1][fullest]))[0]
    words = (
        f"All tiles together hold {size(by_tile.sum())}. The fullest, tile {fullest:,}, holds "
        f"{size(most)} of its {size(room)} ({percent(most / room)}), most of it {largest}."
    )
    over = int((by_tile > room).sum())
    if over:
        words += f" {over:,} tile{' does' if over == 1 else 's do'} not have the room."
    return words


def _memory(profile: TileProfile) -> Dict[str, str]:
    by_tile, categories = profile.bytes_by_tile, profile.categories
    fullest = int(np.argmax(by_tile))
    most = float(by_tile[fullest])
    tiles = len(by_tile)
    liveness = profile.liveness
    return {
        "memory_map": tile_map(
            by_tile,
            profile.tiles_per_ipu,
            most,
            1,
            ("0", f"{size(most)}, tile {fullest:,}"),
            fullest,
            f"Memory of each tile; the fullest is tile {fullest}",
        )
        + _left_out(profile),
        "last_tile": f"{tiles - 1:,}",
        "grouped": "" if tiles <= MOST_COLUMNS else ", the fullest of each group",
        "memory_columns": memory_columns(categories, CATEGORY_COLOURS),
        "category_table": _category_table(categories, fullest),
        "liveness_plot": _liveness_plot(liveness),
        "variable_table": _variable_table("always live", profile.always_live_variables),
        "live_table": _variable_table("live at the fullest step", profile.fullest_step_variables),
    }


def _compute(profile: TileProfile, of: str) -> Dict[str, str]:
    """The map and the curve of what tiles computed; nothing where nobody counted it."""
    cycles = profile.compute_by_tile
    if not cycles.size or not cycles.any():
        return {"compute_map": "", "balance_plot": ""}
    busiest = int(np.argmax(cycles))
    most = float(cycles[busiest])
    shares = 100 * np.sort(cycles)[::-1] / most
    at = np.unique(np.linspace(0, len(shares) - 1, _CURVE_POINTS).astype(int))
    mean = float(shares.mean())
    series: List[plots.Series] = [
        ("a tile", "s1", shares[at].tolist()),
        (f"mean {mean:.0f} %", "s0", [mean] * len(at)),
    ]
    drawn = tile_map(
        cycles,
        profile.tiles_per_ipu,
        most,
        2,
        ("0", f"{count(most)} cycles, tile {busiest:,}"),
        busiest,
        f"Compute cycles of each tile; the busiest is tile {busiest}",
    )
    curve = plots.curves(
        series,
        (100 * (at + 1) / len(shares)).tolist(),
        "tiles, the busiest first (%)",
        "cycles (% of the busiest)",
        (0.0, 100.0),
        "Compute cycles of the tiles, from the busiest to the idlest",
    )
    return {
        "compute_map": f"<figure><figcaption>Compute <span>{of}cycles of each tile in all runs, "
        f"the busiest one framed</span></figcaption>{drawn}{_left_out(profile)}</figure>",
        "balance_plot": f"<figure><figcaption>Balance <span>{of}how even the work of the tiles "
        f"is</span></figcaption>{curve}</figure>",
    }


def _left_out(profile: TileProfile) -> str:
    if profile.ipus <= MOST_MAPS:
        return ""
    return f"<p>The first {MOST_MAPS} of {profile.ipus} IPUs are drawn.</p>"


def _category_table(categories: Dict[str, np.ndarray], fullest: int) -> str:
    whole = sum(float(amounts.sum()) for amounts in categories.values())
    rows = [
        [
            swatch(CATEGORY_COLOURS[name]) + name,
            size(amounts.sum()),
            percent(float(amounts.sum()) / whole),
            size(amounts[fullest]),
        ]
        for name, amounts in categories.items()
    ]
    return table(["memory", "all tiles", "share", "fullest tile"], rows)


def _liveness_plot(liveness: List[Tuple[str, float]]) -> str:
    if not liveness:
        return "<p>No step needs memory beside what is always live.</p>"
    in_bytes = np.array([bytes_ for _, bytes_ in liveness])
    unit, divisor = ("KiB", 1024) if in_bytes.max() < 1000 * 1024 else ("MiB", 1024**2)
    amounts = in_bytes / divisor
    group = -(-len(amounts) // _CURVE_POINTS)
    most = [float(amounts[at : at + group].max()) for at in range(0, len(amounts), group)]
    peak = int(np.argmax(amounts))
    series: List[plots.Series] = [("all tiles", "s1", most)]
    drawn = plots.curves(
        series,
        [float(at) for at in range(0, len(amounts), group)],
        "step of the programs",
        unit,
        plots.zero_range(series),
        "Memory that is not always live at each step",
        whole=True,
    )
    where = f"The most, {size(in_bytes[peak])}, at step {peak:,}: {liveness[peak][0]}."
    return f"{drawn}<p>{escape(where)}</p>"


def _variable_table(title: str, variables: List[Tuple[str, float]]) -> str:
    rows = [[escape(name or "without a name"), size(b)] for name, b in variables[:MOST_VARIABLES]]
    more = variables[MOST_VARIABLES:]
    if more:
        rows.append([f"{len(more):,} more", size(sum(bytes_ for _, bytes_ in more))])
    return table([title, "all tiles"], rows)
