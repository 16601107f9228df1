"""Pictures of tiles: a map of each IPU, and what fills the memory of them."""

from __future__ import annotations

import math
from html import escape
from typing import Dict, List, Sequence, Tuple

import numpy as np

from ipulse_worker.runner.report.axes import Axes, nice_ceiling
from ipulse_worker.runner.report.plots import CHART

MAP_WIDTH = 500.0  # pixels of the picture, not of the screen
MOST_MAPS = 4  # IPUs drawn; more would be smaller than a pixel a tile
SHADES = 8  # a path each: so few bytes for so many tiles
LARGEST_CELL = 26.0
GAPLESS = 400  # tiles of an IPU from which on neighbours of one shade are drawn as one
MOST_COLUMNS = 150  # of the chart of memory
_LEGEND = 34.0


def tile_map(
    values: np.ndarray,
    tiles_per_ipu: int,
    top: float,
    colour: int,
    scale: Tuple[str, str],
    marked: int,
    description: str,
) -> str:
    """A shade for every tile, row by row from tile 0 on.

    values: `[tiles]`; `top` has the darkest shade. scale: the words at the legend's two ends.
    marked: a tile with a frame around it.
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
    return (
        f'<svg class="map" viewBox="0 0 {MAP_WIDTH:g} {height + _LEGEND:.1f}" role="img" '
        f'aria-label="{escape(description)}">{"".join([*drawn, *marks, *legend])}</svg>'
    )


def memory_columns(categories: Dict[str, np.ndarray], colours: Dict[str, int]) -> str:
    """What fills each tile's memory, in KiB over the tiles' numbers, one category on the other.

    Of more tiles than there is room for, the fullest of each group.
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
    return axes.svg("Memory of the tiles by what fills it")


def _level(value: float, top: float) -> int:
    """0 for nothing, else one of SHADES."""
    if value <= 0 or top <= 0:
        return 0
    return min(SHADES, max(1, math.ceil(SHADES * value / top - 1e-9)))


def _stretches(levels: Sequence[int], one_by_one: bool) -> List[Tuple[int, int, int]]:
    """(start, length, level) of neighbours with one level."""
    found: List[Tuple[int, int, int]] = []
    for at, level in enumerate(levels):
        if found and found[-1][2] == level and not one_by_one:
            start, length, _ = found.pop()
            found.append((start, length + 1, level))
        else:
            found.append((at, 1, level))
    return found


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
