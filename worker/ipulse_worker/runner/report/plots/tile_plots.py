"""Plots of tiles: a map of each IPU, and the memory of each tile by category."""

from __future__ import annotations

import math
from html import escape
from typing import Dict, List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes, nice_ceiling
from ipulse_worker.runner.report.plots.charts import CHART
from ipulse_worker.runner.report.plots.svg import svg

MAP_WIDTH = 500.0  # in SVG units
MOST_MAPS = 4  # IPUs drawn; with more, a tile would be smaller than a pixel
SHADES = 8  # one path each, which keeps the page small
LARGEST_CELL = 26.0
GAPLESS = 400  # from this many tiles per IPU, neighbours of one shade are drawn as one box
MOST_COLUMNS = 150  # of the memory chart
_LEGEND = 34.0


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
    across = 1 if ipus == 1 else 2
    columns = math.ceil(math.sqrt(1.43 * tiles_per_ipu))  # 46 x 32 of 1,472
    rows = math.ceil(tiles_per_ipu / columns)
    gap = 22.0 if ipus > 1 else 0.0
    cell = min(LARGEST_CELL, ((MAP_WIDTH + 12) / across - 12) / columns)
    shades: List[List[str]] = [[] for _ in range(SHADES + 1)]
    marks: List[str] = []
    for ipu in range(ipus):
        left = (ipu % across) * (columns * cell + 12)
        above = (ipu // across) * (rows * cell + gap) + gap
        if ipus > 1:
            name = f'<text class="tick" x="{left:.1f}" y="{above - 6:.1f}">IPU {ipu}</text>'
            marks.append(name)
        own = values[ipu * tiles_per_ipu : (ipu + 1) * tiles_per_ipu]
        levels = [_level(value, top) for value in own]
        for row in range(rows):
            in_row = levels[row * columns : (row + 1) * columns]
            for start, length, level in _stretches(in_row, tiles_per_ipu < GAPLESS):
                x, y = left + start * cell, above + row * cell
                shades[level].append(_box(x, y, length * cell, cell, tiles_per_ipu < GAPLESS))
        if marked // tiles_per_ipu == ipu:
            row, column = divmod(marked % tiles_per_ipu, columns)
            marks.append(
                f'<rect class="frame" x="{left + column * cell:.1f}" y="{above + row * cell:.1f}" '
                f'width="{cell:.1f}" height="{cell:.1f}"/>'
            )
    height = math.ceil(ipus / across) * (rows * cell + gap) + 14
    drawn = [_shade(level, colour, "".join(boxes)) for level, boxes in enumerate(shades) if boxes]
    legend = _legend(height, colour, scale)
    elements = [*drawn, *marks, *legend]
    return svg(MAP_WIDTH, height + _LEGEND, elements, description, css_class="map")


def memory_columns(categories: Dict[str, np.ndarray], colours: Dict[str, int]) -> Markup:
    """Draw the memory of each tile in KiB, stacked by category.

    If there are more tiles than columns, each column shows the fullest tile of a group.
    """
    stacked = np.stack(list(categories.values())) / 1024
    tiles = stacked.shape[1]
    group = math.ceil(tiles / MOST_COLUMNS)
    total = stacked.sum(axis=0)
    chosen = [at + int(np.argmax(total[at : at + group])) for at in range(0, tiles, group)]
    axes = Axes(*CHART, (0.0, float(tiles)), (0.0, nice_ceiling(float(total.max()))))
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
    return axes.svg("Memory of each tile by category")


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


def _legend(top: float, colour: int, scale: Tuple[str, str]) -> List[str]:
    side = 16.0
    left = 8.0 + 7.2 * len(scale[0])
    boxes = [
        _shade(level, colour, _box(left + level * side, top, side, 12.0, True))
        for level in range(SHADES + 1)
    ]
    ends = [(0.0, scale[0]), (left + (SHADES + 1) * side + 8, scale[1])]
    return boxes + [
        f'<text class="tick" x="{x:.1f}" y="{top + 10.5:.1f}">{escape(text)}</text>'
        for x, text in ends
    ]
