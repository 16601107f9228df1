"""A raster plot: one sample's spikes and readout membranes over time."""

from __future__ import annotations

from typing import List, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes
from ipulse_worker.runner.report.plots.charts import FULL
from ipulse_worker.runner.results.results import SampleTrace

PANEL_GAP = 16.0
READOUT_HEIGHT = 150.0
MAX_NEURONS = 512  # rows drawn per layer; more would be thinner than a pixel
MAX_SPIKES = 20_000  # drawn per layer, evenly chosen; more would make a page of megabytes
MARK_WIDTH = 8.0  # greatest width of a spike
LEFT, RIGHT = 104.0, 96.0


def raster_plot(raster: SampleTrace, sizes: Tuple[int, ...], step_ms: float) -> Markup:
    """Draw panels from top to bottom: input, hidden layers, readout. `sizes` is Results.sizes."""
    panels: List[Tuple[str, np.ndarray, int, str]] = [
        ("input", raster.input_spikes, sizes[0], "s0")
    ]
    for number, spikes in enumerate(raster.layer_spikes, start=1):
        panels.append((f"layer {number}", spikes, sizes[number], f"s{1 + (number - 1) % 6}"))
    duration_ms = len(raster.membrane) * step_ms
    heights = [_height(min(neurons, MAX_NEURONS)) for _, _, neurons, _ in panels]
    total = sum(heights) + READOUT_HEIGHT + PANEL_GAP * len(panels) + 56
    axes = Axes(FULL, total, (0.0, duration_ms), (0.0, 1.0), left=LEFT, right=RIGHT)
    top = 8.0
    for (name, spikes, neurons, kind), height in zip(panels, heights):
        _panel(axes, top, height, name, spikes, neurons, kind, step_ms)
        top += height + PANEL_GAP
    _readout(axes, top, raster, step_ms)
    shown = "spikes of input and hidden layers, and membranes of the readout over time"
    return axes.svg(f"Sample {raster.sample}: {shown}")


def _height(rows: int) -> float:
    return float(np.clip(1.15 * rows, 40.0, 190.0))


def _panel(
    axes: Axes,
    top: float,
    height: float,
    name: str,
    spikes: np.ndarray,
    neurons: int,
    kind: str,
    step_ms: float,
) -> None:
    drawn = spikes[spikes[:, 1] < MAX_NEURONS]
    drawn = drawn[:: 1 + len(drawn) // (MAX_SPIKES + 1)]
    rows = min(neurons, MAX_NEURONS)
    axes.add(
        f'<rect class="panel" x="{axes.left:.1f}" y="{top:.1f}" '
        f'width="{axes.right_edge - axes.left:.1f}" height="{height:.1f}"/>'
    )
    size = max(1.6, 0.92 * height / rows)
    width = min(MARK_WIDTH, 0.7 * (axes.x(step_ms) - axes.x(0.0)))
    marks = []
    for step, neuron in drawn:
        x = axes.x((step + 0.5) * step_ms) - width / 2
        y = top + (neuron + 0.5) * height / rows - size / 2
        marks.append(f"M{x:.1f} {y:.1f}h{width:.1f}v{size:.1f}h{-width:.1f}z")
    axes.add(f'<path class="spikes f{kind[1:]}" d="{"".join(marks)}"/>')
    middle = top + height / 2
    axes.text(axes.left - 12, middle - 2, name, "panel-name", "end")
    shown = f"{neurons:,}" if rows == neurons else f"{rows:,} of {neurons:,}"
    axes.text(axes.left - 12, middle + 13, shown, "tick", "end")
    plural = "" if len(spikes) == 1 else "s"
    axes.text(axes.right_edge + 10, middle + 4, f"{len(spikes):,} spike{plural}", "tick")
    if len(drawn) < len(spikes):
        axes.text(axes.right_edge + 10, middle + 19, f"{len(drawn):,} drawn", "tick")


def _readout(axes: Axes, top: float, raster: SampleTrace, step_ms: float) -> None:
    """Draw a line per class, with emphasis on the predicted and on the true class."""
    low, high = float(raster.membrane.min()), float(raster.membrane.max())
    if low == high:
        low, high = low - 1.0, high + 1.0
    inner = Axes(
        FULL,
        top + READOUT_HEIGHT + 44,
        axes.x_range,
        (low, high),
        left=LEFT,
        right=RIGHT,
        top=top,
        bottom=44.0,
    )
    axes.add(
        f'<rect class="panel" x="{axes.left:.1f}" y="{top:.1f}" '
        f'width="{axes.right_edge - axes.left:.1f}" height="{READOUT_HEIGHT:.1f}"/>'
    )
    times = [(step + 1) * step_ms for step in range(len(raster.membrane))]
    if low < 0.0 < high:
        zero = inner.y(0.0)
        inner.add(
            f'<line class="grid" x1="{inner.left:.1f}" x2="{inner.right_edge:.1f}" '
            f'y1="{zero:.1f}" y2="{zero:.1f}"/>'
        )
        inner.text(inner.left - 8, zero + 4, "0", anchor="end")
    for label in range(raster.membrane.shape[1]):
        if label not in (raster.label, raster.predicted):
            inner.line(times, raster.membrane[:, label].tolist(), "other")
    ends = []
    right = raster.label == raster.predicted
    for label, kind in ((raster.label, "s3"), (raster.predicted, "s3" if right else "s2")):
        word = "true" if label == raster.label else "predicted"
        inner.line(times, raster.membrane[:, label].tolist(), kind)
        ends.append((float(raster.membrane[-1, label]), f"{label} ({word})", kind))
    inner.end_labels(ends[:1] if right else ends)
    inner.x_axis("time (ms)")
    inner.text(inner.left - 28, top + READOUT_HEIGHT / 2 - 10, "readout", "panel-name", "end")
    inner.text(inner.left - 28, top + READOUT_HEIGHT / 2 + 5, "membrane", "tick", "end")
    for mark in inner.marks:
        axes.add(mark)
