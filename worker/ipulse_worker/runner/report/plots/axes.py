"""A pair of axes as SVG text: scales, ticks and labels."""

from __future__ import annotations

import math
from html import escape
from typing import List, Optional, Sequence, Tuple

from markupsafe import Markup

from ipulse_worker.runner.report.plots.svg import svg

LABEL_GAP = 15.0  # pixels between two labels at the right edge


class Axes:
    """Maps data to coordinates inside margins and collects SVG elements."""

    def __init__(
        self,
        width: float,
        height: float,
        x_range: Tuple[float, float],
        y_range: Tuple[float, float],
        left: float = 48.0,
        right: float = 16.0,
        top: float = 14.0,
        bottom: float = 40.0,
    ) -> None:
        self.width, self.height = width, height
        self.x_range, self.y_range = x_range, y_range
        self.left, self.top = left, top
        self.right_edge, self.bottom_edge = width - right, height - bottom
        self.marks: List[str] = []

    def x(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right_edge - self.left)

    def y(self, value: float) -> float:
        """Return the vertical coordinate of a value."""
        low, high = self.y_range
        return self.bottom_edge - (value - low) / (high - low) * (self.bottom_edge - self.top)

    def add(self, markup: str) -> None:
        """Add an SVG element."""
        self.marks.append(markup)

    def text(
        self, x: float, y: float, text: str, kind: str = "tick", anchor: str = "start"
    ) -> None:
        """Add a plain text, which is escaped here."""
        self.add(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def x_axis(self, label: str, ticks: Optional[Sequence[float]] = None) -> None:
        """Draw the horizontal axis."""
        for tick in nice_ticks(*self.x_range) if ticks is None else ticks:
            at = self.x(tick)
            self.add(
                f'<line class="tickmark" x1="{at:.1f}" x2="{at:.1f}" '
                f'y1="{self.bottom_edge:.1f}" y2="{self.bottom_edge + 4:.1f}"/>'
            )
            self.text(at, self.bottom_edge + 17, f"{tick:g}", anchor="middle")
        self.add(
            f'<line class="axis" x1="{self.left:.1f}" x2="{self.right_edge:.1f}" '
            f'y1="{self.bottom_edge:.1f}" y2="{self.bottom_edge:.1f}"/>'
        )
        middle = (self.left + self.right_edge) / 2
        self.text(middle, self.bottom_edge + 34, label, "label", "middle")

    def y_axis(self, label: str, ticks: Optional[Sequence[float]] = None) -> None:
        """Draw the vertical axis with grid lines."""
        for tick in nice_ticks(*self.y_range, count=5) if ticks is None else ticks:
            at = self.y(tick)
            self.add(
                f'<line class="grid" x1="{self.left:.1f}" x2="{self.right_edge:.1f}" '
                f'y1="{at:.1f}" y2="{at:.1f}"/>'
            )
            self.text(self.left - 8, at + 4, f"{tick:g}", anchor="end")
        middle = (self.top + self.bottom_edge) / 2
        self.add(
            f'<text class="label" text-anchor="middle" '
            f'transform="translate(13 {middle:.1f}) rotate(-90)">{escape(label)}</text>'
        )

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> None:
        """Draw a line through the points, or a dot for a single point."""
        points = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys)]
        if len(points) == 1:
            x, y = points[0].split(",")
            self.add(f'<circle class="dot {kind}" cx="{x}" cy="{y}" r="3"/>')
        else:
            self.add(f'<polyline class="line {kind}" points="{" ".join(points)}"/>')

    def end_labels(self, labels: Sequence[Tuple[float, str, str]]) -> None:
        """Write (y value, text, class) labels at the right edge without overlap."""
        placed: List[float] = []
        ordered = sorted(labels, key=lambda label: -label[0])
        for value, _, _ in ordered:
            wanted = self.y(value) + 4
            placed.append(max(wanted, placed[-1] + LABEL_GAP) if placed else wanted)
        overshoot = placed[-1] - (self.bottom_edge + 2) if placed else 0.0
        for (_, text, kind), at in zip(ordered, placed):
            self.text(self.right_edge + 8, at - max(0.0, overshoot), text, f"end {kind}")

    def svg(self, description: str) -> Markup:
        """Return the image."""
        return svg(self.width, self.height, self.marks, description)


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
