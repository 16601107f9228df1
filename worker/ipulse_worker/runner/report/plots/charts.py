"""Line charts, stacked bars, the confusion matrix and small images as inline SVG."""

from __future__ import annotations

from html import escape
from typing import List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes, nice_ceiling, whole_ticks
from ipulse_worker.runner.report.plots.svg import svg

CHART = (520.0, 270.0)  # size of the charts that stand side by side, in SVG units
FULL = 1064.0  # width of plots with a row of their own
LABEL_ROOM = 126.0  # width at the right of a chart for the names of its lines

# (name, class in the style sheet, values)
Series = Tuple[str, str, Sequence[float]]


def curves(
    series: Sequence[Series],
    x_values: Sequence[float],
    x_label: str,
    y_label: str,
    y_range: Tuple[float, float],
    description: str,
    whole: bool = False,
    show_last: str = "",
) -> Markup:
    """Draw lines over common x values, with their names at the right ends.

    Args:
        series: the lines.
        x_values: common to all lines.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        y_range: of the vertical axis.
        description: for screen readers.
        whole: whether only integers are ticks of the horizontal axis.
        show_last: format of each line's last value, written after its name; none if empty.
    """
    low, high = min(x_values), max(x_values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    axes = Axes(*CHART, (low, high), y_range, right=LABEL_ROOM)
    axes.y_axis(y_label)
    axes.x_axis(x_label, whole_ticks(low, high) if whole else None)
    for _, kind, values in series:
        axes.line(x_values, values, kind)
    axes.end_labels(
        [
            (values[-1], f"{name} {values[-1]:{show_last}}" if show_last else name, kind)
            for name, kind, values in series
        ]
    )
    return axes.svg(description)


def percent_range(series: Sequence[Series]) -> Tuple[float, float]:
    """Return the range from a round number below the smallest value to 100."""
    smallest = min(min(values) for _, _, values in series)
    return (max(0.0, 10 * np.floor((smallest - 1e-9) / 10)), 100.0)


def zero_range(series: Sequence[Series]) -> Tuple[float, float]:
    """Return the range from zero to a round number above the largest value."""
    return (0.0, nice_ceiling(max(max(values) for _, _, values in series)))


def stacked_bar(parts: Sequence[Tuple[str, str, float]], description: str) -> Markup:
    """Draw one bar of the full width, divided into parts: (name, class, amount)."""
    height, total = 34.0, sum(amount for _, _, amount in parts)
    marks: List[str] = []
    at = 0.0
    for name, kind, amount in parts:
        width = FULL * amount / total if total > 0 else 0.0
        if width >= 0.05:
            # A gap between neighbours, for readers who cannot tell their colours apart.
            marks.append(
                f'<rect class="{kind}" x="{at:.2f}" y="0" width="{max(width - 1.5, 0.5):.2f}" '
                f'height="{height:g}"><title>{escape(name)}: {100 * amount / total:.1f} %</title>'
                "</rect>"
            )
        share = f"{100 * amount / total:.0f} %" if total > 0 else ""
        for text in (f"{name} {share}", share):
            if width > 7.6 * len(text) + 12:
                marks.append(f'<text class="onbar" x="{at + 8:.1f}" y="22">{escape(text)}</text>')
                break
        at += width
    return svg(FULL, height, marks, description, css_class="bar")


def confusion_matrix(counts: np.ndarray, description: str) -> Markup:
    """Draw counts, int64 `[classes, classes]`: rows are true, columns predicted classes."""
    classes = len(counts)
    left, top, side = 46.0, 44.0, 440.0
    cell = side / classes
    most = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    marks = [
        f'<text class="label" x="{left + side / 2:.1f}" y="14" text-anchor="middle">'
        "predicted</text>",
        f'<text class="label" text-anchor="middle" '
        f'transform="translate(13 {top + side / 2:.1f}) rotate(-90)">true</text>',
    ]
    for number in range(classes):
        centre = (number + 0.5) * cell
        marks.append(
            f'<text class="tick" x="{left + centre:.1f}" y="{top - 9:.1f}" text-anchor="middle">'
            f"{number}</text>"
            f'<text class="tick" x="{left - 10:.1f}" y="{top + centre + 4:.1f}" text-anchor="end">'
            f"{number}</text>"
        )
    for true in range(classes):
        for predicted in range(classes):
            count = int(counts[true, predicted])
            kind = "right" if true == predicted else "wrong"
            # Errors are rare: their shade starts strong so that a single one is visible.
            share = count / float(most[true, 0])
            strength = 0.0 if not count else share if kind == "right" else 0.35 + 0.65 * share
            x, y = left + predicted * cell, top + true * cell
            marks.append(
                f'<rect class="cell" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{cell - 2:.1f}" '
                f'height="{cell - 2:.1f}" rx="3"/>'
            )
            if count:
                strong = " strong" if strength > 0.55 else ""
                marks.append(
                    f'<rect class="{kind}" style="opacity:{strength:.2f}" x="{x + 1:.1f}" '
                    f'y="{y + 1:.1f}" width="{cell - 2:.1f}" height="{cell - 2:.1f}" rx="3"/>'
                    f'<text class="count {kind}{strong}" x="{x + cell / 2:.1f}" '
                    f'y="{y + cell / 2 + 4.5:.1f}" text-anchor="middle">{count}</text>'
                )
    return svg(left + side + 4, top + side + 4, marks, description)


def grey_image(image: np.ndarray, description: str) -> Markup:
    """Draw a small grey image, `[rows, columns]` in [0, 1]."""
    rows, columns = image.shape
    cells = [
        f'<rect class="pixel" style="opacity:{image[row, column]:.3f}" x="{column}" y="{row}" '
        'width="1.02" height="1.02"/>'
        for row in range(rows)
        for column in range(columns)
        if image[row, column] > 0
    ]
    return svg(columns, rows, cells, description, css_class="picture")


def layer_class(number: int) -> str:
    """Return the CSS class with the colour of layer `number`, from 1."""
    return f"s{1 + (number - 1) % 6}"
