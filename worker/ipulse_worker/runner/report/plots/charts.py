"""Line charts, stacked bars, the confusion matrix and small images, inline."""

from __future__ import annotations

from html import escape
from typing import List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes, nice_ceiling, whole_ticks
from ipulse_worker.runner.report.plots.svg import plot, span, svg

HEIGHT = 216.0  # of charts, in pixels

MIN_CELL = 14.0  # pixels; smaller cells of a confusion matrix have no room for a number
MOST_NUMBERS = 12  # of classes along a side of a confusion matrix

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
    """Draw lines over common x values, with their names above.

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
    axes = Axes(HEIGHT, (low, high), y_range)
    axes.y_axis(y_label)
    axes.x_axis(x_label, whole_ticks(low, high) if whole else None)
    for name, kind, values in series:
        axes.line(x_values, values, kind)
        axes.label(f"{name} {values[-1]:{show_last}}" if show_last else name, f"end {kind}")
    data = {
        "x": list(x_values),
        "x_label": x_label,
        "y_label": y_label,
        "y_range": list(y_range),
        "whole": whole,
        "series": [
            {"name": name, "kind": kind, "values": list(values)} for name, kind, values in series
        ],
    }
    return plot(axes.parts(), description, data)


def percent_range(series: Sequence[Series]) -> Tuple[float, float]:
    """Return the range from a round number below the smallest value to 100."""
    smallest = min(min(values) for _, _, values in series)
    return (max(0.0, 10 * np.floor((smallest - 1e-9) / 10)), 100.0)


def zero_range(series: Sequence[Series]) -> Tuple[float, float]:
    """Return the range from zero to a round number above the largest value."""
    return (0.0, nice_ceiling(max(max(values) for _, _, values in series)))


def stacked_bar(parts: Sequence[Tuple[str, str, float]], description: str) -> Markup:
    """Draw one bar of the full width, divided into parts: (name, class, amount).

    A part shows its share and its name as far as they fit: what does not fit wraps to a second
    line, which is hidden.
    """
    total = sum(amount for _, _, amount in parts)
    marks: List[str] = []
    for name, kind, amount in parts:
        share = 100 * amount / total if total > 0 else 0.0
        if share < 0.05:
            continue
        title = escape(f"{name}: {share:.1f} %")
        texts = f"<i></i>{span('share', f'{share:.0f} %')}{span('name', name)}"
        place = f'class="part b{kind[1:]}" style="flex-grow:{share:.3f}"'
        marks.append(f'<div {place} title="{title}">{texts}</div>')
    return plot([f'<div class="bar">{"".join(marks)}</div>'], description)


def confusion_matrix(counts: np.ndarray, description: str) -> Markup:
    """Draw counts, int64 `[classes, classes]`: rows are true, columns predicted classes."""
    classes = len(counts)
    left, top, side = 54.0, 44.0, 440.0
    cell = side / classes
    most = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    marks = [
        f'<text class="label" x="{left + side / 2:.1f}" y="15" text-anchor="middle">'
        "predicted</text>",
        f'<text class="label" text-anchor="middle" '
        f'transform="translate(14 {top + side / 2:.1f}) rotate(-90)">true</text>',
    ]
    for number in range(0, classes, -(-classes // MOST_NUMBERS)):
        centre = (number + 0.5) * cell
        marks.append(
            f'<text class="tick" x="{left + centre:.1f}" y="{top - 9:.1f}" text-anchor="middle">'
            f"{number}</text>"
            f'<text class="tick" x="{left - 8:.1f}" y="{top + centre + 4:.1f}" text-anchor="end">'
            f"{number}</text>"
        )
    empty = "".join(
        f"M{left + column * cell + 1:.1f} {top + row * cell + 1:.1f}h{cell - 2:.1f}"
        f"v{cell - 2:.1f}h{2 - cell:.1f}z"
        for row in range(classes)
        for column in range(classes)
    )
    marks.append(f'<path class="cell" d="{empty}"/>')
    for true, predicted in np.argwhere(counts):
        count = int(counts[true, predicted])
        kind = "right" if true == predicted else "wrong"
        # Errors are rare: their shade starts strong so that a single one is visible.
        share = count / float(most[true, 0])
        strength = share if kind == "right" else 0.35 + 0.65 * share
        x, y = left + predicted * cell, top + true * cell
        marks.append(
            f'<rect class="{kind}" style="opacity:{strength:.2f}" x="{x + 1:.1f}" '
            f'y="{y + 1:.1f}" width="{cell - 2:.1f}" height="{cell - 2:.1f}" rx="3">'
            f"<title>true {true}, predicted {predicted}: {count:,}</title></rect>"
        )
        if cell < MIN_CELL:
            continue
        strong = " strong" if strength > 0.55 else ""
        size = min(17.0, 1.5 * cell / max(2, len(str(count))))
        marks.append(
            f'<text class="count {kind}{strong}" style="font-size:{size:.1f}px" '
            f'x="{x + cell / 2:.1f}" y="{y + cell / 2 + 0.35 * size:.1f}" '
            f'text-anchor="middle">{count}</text>'
        )
    return svg(left + side + 4, top + side + 4, marks, description, css_class="matrix")


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
