"""A small raster of events for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 60, 16
_SHADES = ".:*#"  # from one event in a cell to many


def raster(
    times: Sequence[float], channels: Sequence[int], end: float, channel_count: int
) -> list[str]:
    """Return lines of a picture: time from left to right, channels from bottom to top."""
    columns, rows = WIDTH, max(1, min(HEIGHT, channel_count))
    counts = [[0] * columns for _ in range(rows)]
    for time, channel in zip(times, channels, strict=True):
        column = min(columns - 1, max(0, int(time / end * columns))) if end > 0 else 0
        row = min(rows - 1, channel * rows // max(1, channel_count))
        counts[row][column] += 1
    most = max((count for row in counts for count in row), default=0)
    return ["|" + "".join(_shade(count, most) for count in row) + "|" for row in reversed(counts)]


def _shade(count: int, most: int) -> str:
    if not count:
        return " "
    return _SHADES[min(len(_SHADES) - 1, (count - 1) * len(_SHADES) // max(1, most))]
