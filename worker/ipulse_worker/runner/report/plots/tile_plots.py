"""Plots of tiles: a map of each IPU, and the memory of each tile by category."""

from __future__ import annotations

import math
from typing import Dict, List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes, nice_ceiling
from ipulse_worker.runner.report.plots.charts import HEIGHT
from ipulse_worker.runner.report.plots.svg import plot, span

CELL = 10.0  # side of a tile in a map, in SVG units
FEWEST_COLUMNS = 18  # of a map that has the full width
MOST_MAPS = 4  # IPUs drawn; with more, a tile would be smaller than a pixel
SHADES = 8  # one path each, which keeps the page small
GAPLESS = 400  # from this many tiles per IPU, neighbours of one shade are drawn as one box
MOST_COLUMNS = 150  # of the memory chart


def tile_map(
    values: np.ndarray,
    tiles_per_ipu: int,
    top: float,
    colour: int,
    scale: Tuple[str, str],
    marked: int,
    description: str,
) -> Markup:
    """Draw a shade for every tile, row by row from tile 0.

    Args:
        values: `[tiles]`.
        tiles_per_ipu: each IPU gets a map of its own.
        top: the value with the darkest shade.
        colour: number of the colour in the style sheet.
        scale: texts at the two ends of the legend.
        marked: number of the tile with a frame.
        description: for screen readers.
    """
    ipus = min(MOST_MAPS, math.ceil(len(values) / tiles_per_ipu))
    columns = math.ceil(math.sqrt(1.43 * tiles_per_ipu))  # 46 x 32 of 1,472
    rows = math.ceil(tiles_per_ipu / columns)
    parts: List[str] = []
    for ipu in range(ipus):
        name = f"IPU {ipu}" if ipus > 1 else ""
        own = values[ipu * tiles_per_ipu : (ipu + 1) * tiles_per_ipu]
        levels = [_level(value, top) for value in own]
        shades: List[List[str]] = [[] for _ in range(SHADES + 1)]
        for row in range(rows):
            in_row = levels[row * columns : (row + 1) * columns]
            for start, length, level in _stretches(in_row, tiles_per_ipu < GAPLESS):
                shades[level].append(
                    _box(CELL * start, CELL * row, CELL * length, CELL, tiles_per_ipu < GAPLESS)
                )
        drawn = ((level, boxes) for level, boxes in enumerate(shades) if boxes)
        marks = [_shade(level, colour, "".join(boxes)) for level, boxes in drawn]
        if marked // tiles_per_ipu == ipu:
            row, column = divmod(marked % tiles_per_ipu, columns)
            marks.append(
                f'<rect class="frame" x="{CELL * column:g}" y="{CELL * row:g}" '
                f'width="{CELL:g}" height="{CELL:g}"/>'
            )
        # A machine of a few tiles does not fill the figure.
        widest = min(100.0, 100 * columns / FEWEST_COLUMNS)
        parts.append(
            f'<div class="map">{span("tick", name)}<svg viewBox="0 0 {CELL * columns:g} '
            f'{CELL * rows:g}" style="width:{widest:.3g}%" aria-hidden="true">'
            f"{''.join(marks)}</svg></div>"
        )
    maps = f'<div class="maps{" several" if ipus > 1 else ""}">{"".join(parts)}</div>'
    return plot([maps, _legend(colour, scale)], description)


def memory_columns(categories: Dict[str, np.ndarray], colours: Dict[str, int]) -> Markup:
    """Draw the memory of each tile in KiB, stacked by category.

    If there are more tiles than columns, each column shows the fullest tile of a group.
    """
    stacked = np.stack(list(categories.values())) / 1024
    tiles = stacked.shape[1]
    group = math.ceil(tiles / MOST_COLUMNS)
    total = stacked.sum(axis=0)
    chosen = [at + int(np.argmax(total[at : at + group])) for at in range(0, tiles, group)]
    axes = Axes(HEIGHT, (0.0, float(tiles)), (0.0, nice_ceiling(float(total.max()))))
    axes.y_axis("KiB")
    base = np.zeros(len(chosen))
    for name, amounts in zip(categories, stacked[:, chosen]):
        boxes = [
            _box(
                axes.x(number * group),
                axes.y(low + amount),
                axes.x(min(tiles, (number + 1) * group)) - axes.x(number * group),
                axes.y(low) - axes.y(low + amount),
                tiles <= MOST_COLUMNS // 2,
            )
            for number, (low, amount) in enumerate(zip(base, amounts))
            if amount > 0
        ]
        if boxes:
            axes.add(f'<path class="f{colours[name]}" d="{"".join(boxes)}"/>')
        base = base + amounts
    axes.x_axis("tile")
    return plot(axes.parts(), "Memory of each tile by category")


def _level(value: float, top: float) -> int:
    """Return 0 for an empty tile, else one of the SHADES."""
    if value <= 0 or top <= 0:
        return 0
    return min(SHADES, max(1, math.ceil(SHADES * value / top - 1e-9)))


def _stretches(levels: Sequence[int], one_by_one: bool) -> List[Tuple[int, int, int]]:
    """Group neighbours of equal level: (start, length, level)."""
    groups: List[Tuple[int, int, int]] = []
    for at, level in enumerate(levels):
        if groups and groups[-1][2] == level and not one_by_one:
            start, length, _ = groups.pop()
            groups.append((start, length + 1, level))
        else:
            groups.append((at, 1, level))
    return groups


def _box(x: float, y: float, width: float, height: float, has_gap: bool) -> str:
    gap = 1.0 if has_gap and width > 4 else 0.0
    across, down = width - gap, height - (gap if height > 4 else 0.0)
    return f"M{x:.1f} {y:.1f}h{across:.1f}v{down:.1f}h{-across:.1f}z"


def _shade(level: int, colour: int, path: str) -> str:
    if level == 0:
        return f'<path class="cell" d="{path}"/>'
    return f'<path class="f{colour}" style="opacity:{level / SHADES:.3f}" d="{path}"/>'


def _legend(colour: int, scale: Tuple[str, str]) -> str:
    shades = ['<i class="none"></i>'] + [
        f'<i class="b{colour}" style="opacity:{level / SHADES:g}"></i>'
        for level in range(1, SHADES + 1)
    ]
    ends = [span("tick", text) for text in scale]
    return f'<p class="legend">{ends[0]}{"".join(shades)}{ends[1]}</p>'
