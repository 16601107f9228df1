"""A pair of axes: SVG marks that stretch to any width, and texts in HTML around them."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence, Tuple

from ipulse_core.numbers import plain_number
from ipulse_worker.runner.report.plots.svg import span, stretched_svg

WIDTH = 1000.0  # of the coordinate system, whatever the width in pixels


class Axes:
    """Maps data to coordinates and collects marks and texts."""

    def __init__(
        self, height: float, x_range: Tuple[float, float], y_range: Tuple[float, float]
    ) -> None:
        """`height` is in pixels."""
        self.height = height
        self.x_range, self.y_range = x_range, y_range
        self.marks: List[str] = []
        self.texts: List[str] = []
        self.labels: List[str] = []
        self._below: List[str] = []
        self._has_gutter = False

    def x(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        low, high = self.x_range
        return (value - low) / (high - low) * WIDTH

    def y(self, value: float) -> float:
        """Return the vertical coordinate of a value."""
        low, high = self.y_range
        return self.height - (value - low) / (high - low) * self.height

    def add(self, markup: str) -> None:
        """Add an SVG element without text."""
        self.marks.append(markup)

    def label(self, text: str, css_class: str = "label") -> None:
        """Add a plain text to the line above the axes, which wraps; it is escaped here."""
        self.labels.append(span(css_class, text))

    def x_axis(self, label: str, ticks: Optional[Sequence[float]] = None) -> None:
        """Write the horizontal axis below."""
        for tick in nice_ticks(*self.x_range) if ticks is None else ticks:
            at = 100 * self.x(tick) / WIDTH
            # Texts at the ends stay inside.
            edge = " first" if at < 4 else " last" if at > 96 else ""
            self._below.append(span(f"x tick{edge}", plain_number(tick), f"left:{at:.2f}%"))
        self._below.append(span("x-label label", label))

    def y_axis(self, label: str, ticks: Optional[Sequence[float]] = None) -> None:
        """Draw the vertical axis with grid lines; its name is above it."""
        self._has_gutter = True
        self.labels.insert(0, span("label", label))
        for tick in nice_ticks(*self.y_range, count=5) if ticks is None else ticks:
            at = self.y(tick)
            self.grid_line(at)
            self.texts.append(span("y tick", plain_number(tick), f"top:{at:.1f}px"))

    def grid_line(self, at: float) -> None:
        """Draw a horizontal line at a coordinate."""
        self.add(f'<path class="grid" d="M0 {at:.1f}H{WIDTH:g}"/>')

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> None:
        """Draw a line through the points, or a dot for a single point."""
        points = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys)]
        if len(points) == 1:
            # The round ends of a line without length are a dot, however it is stretched.
            self.add(f'<path class="line dot {kind}" d="M{points[0]}h0"/>')
        else:
            self.add(f'<polyline class="line {kind}" points="{" ".join(points)}"/>')

    def parts(self) -> List[str]:
        """Return the HTML elements from top to bottom."""
        found = [f'<p class="labels">{"".join(self.labels)}</p>'] if self.labels else []
        gutter = " gutter" if self._has_gutter else ""
        image = stretched_svg(WIDTH, self.height, self.marks)
        found.append(f'<div class="plot{gutter}">{image}{"".join(self.texts)}')
        if self._below:
            found.append(f'<div class="x-axis">{"".join(self._below)}</div>')
        return [*found, "</div>"]


def nice_ticks(low: float, high: float, count: int = 6) -> List[float]:
    """Return about `count` round numbers within a range."""
    step = nice_step((high - low) / max(1, count - 1))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def whole_ticks(low: float, high: float, count: int = 7) -> List[float]:
    """Return the integers among nice_ticks."""
    return [tick for tick in nice_ticks(low, high, count) if float(tick).is_integer()]


def nice_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten: the one with the ratio to `step` nearest to 1."""
    power = 10.0 ** math.floor(math.log10(step))
    return min(
        (nice * power for nice in (1, 2, 5, 10)), key=lambda nice: abs(math.log(nice / step))
    )


def nice_ceiling(value: float) -> float:
    """Return a round number at or above `value`; 1 for zero."""
    if value <= 0:
        return 1.0
    step = nice_step(value / 5)
    return math.ceil(value / step - 1e-9) * step
