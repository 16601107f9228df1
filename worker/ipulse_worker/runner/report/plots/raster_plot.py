"""A raster plot: one sample's spikes and readout membranes over time."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import numpy as np
from markupsafe import Markup

from ipulse_worker.runner.report.plots.axes import Axes
from ipulse_worker.runner.report.plots.charts import layer_class
from ipulse_worker.runner.report.plots.svg import plot
from ipulse_worker.runner.results.results import SampleTrace

READOUT_HEIGHT = 150.0
MAX_NEURONS = 512  # rows drawn per layer; more would be thinner than a pixel
MOST_OUTPUTS = 6  # of a regression that are drawn
MAX_SPIKES = 10_000  # drawn in all panels, evenly chosen; more would make the page too large
MARK_WIDTH = 8.0  # greatest width of a spike


def raster_plot(
    raster: SampleTrace, sizes: Tuple[int, ...], step_ms: float, names: Sequence[str]
) -> Markup:
    """Draw panels from top to bottom: input, hidden layers, readout.

    Args:
        raster: The sample.
        sizes: Results.sizes.
        step_ms: Width of a time step.
        names: Of the layers.
    """
    panels: List[Tuple[str, np.ndarray, int, str]] = [
        ("input", raster.input_spikes, sizes[0], "s0")
    ]
    for number, spikes in enumerate(raster.layer_spikes, start=1):
        panels.append((names[number - 1], spikes, sizes[number], layer_class(number)))
    duration_ms = len(raster.membrane) * step_ms
    parts: List[str] = []
    for name, spikes, neurons, kind in panels:
        most = MAX_SPIKES // len(panels)
        parts += _panel(name, spikes, neurons, kind, duration_ms, step_ms, most)
    parts += _readout(raster, duration_ms, step_ms)
    shown = "spikes of input and hidden layers, and membranes of the readout over time"
    return plot(parts, f"Sample {raster.sample}: {shown}")


def _height(rows: int) -> float:
    return float(np.clip(1.15 * rows, 40.0, 190.0))


def _panel(
    name: str,
    spikes: np.ndarray,
    neurons: int,
    kind: str,
    duration_ms: float,
    step_ms: float,
    most: int,
) -> List[str]:
    drawn = spikes[spikes[:, 1] < MAX_NEURONS]
    drawn = drawn[:: 1 + len(drawn) // (most + 1)]
    rows = min(neurons, MAX_NEURONS)
    height = _height(rows)
    axes = Axes(height, (0.0, duration_ms), (0.0, 1.0))
    size = max(1.6, 0.92 * height / rows)
    width = min(MARK_WIDTH, 0.7 * (axes.x(step_ms) - axes.x(0.0)))
    marks = []
    for step, neuron in drawn:
        x = axes.x((step + 0.5) * step_ms) - width / 2
        y = (neuron + 0.5) * height / rows
        marks.append(f"M{x:.1f} {y:.1f}h{width:.1f}")
    # A stretched picture keeps its height, and with it the thickness of horizontal strokes.
    axes.add(f'<path class="spikes s{kind[1:]}" stroke-width="{size:.1f}" d="{"".join(marks)}"/>')
    axes.label(name, "panel-name")
    shown = f"{neurons:,}" if rows == neurons else f"{rows:,} of {neurons:,}"
    axes.label(f"{shown} neuron{'' if neurons == 1 else 's'}")
    axes.label(f"{len(spikes):,} spike{'' if len(spikes) == 1 else 's'}")
    if len(drawn) < len(spikes):
        axes.label(f"{len(drawn):,} drawn")
    return axes.parts()


def _readout(raster: SampleTrace, duration_ms: float, step_ms: float) -> List[str]:
    """Draw a line per class, with emphasis on the predicted and on the true class."""
    if raster.targets is not None:
        return _outputs(raster, raster.targets, duration_ms, step_ms)
    low, high = float(raster.membrane.min()), float(raster.membrane.max())
    if low == high:
        low, high = low - 1.0, high + 1.0
    axes = Axes(READOUT_HEIGHT, (0.0, duration_ms), (low, high))
    axes.label("readout", "panel-name")
    axes.label("membrane of each class")
    times = [(step + 1) * step_ms for step in range(len(raster.membrane))]
    if low < 0.0 < high:
        axes.grid_line(axes.y(0.0))
    for label in range(raster.membrane.shape[1]):
        if label not in (raster.label, raster.predicted):
            axes.line(times, raster.membrane[:, label].tolist(), "other")
    right = raster.label == raster.predicted
    for named, kind in ((raster.label, "s3"), (raster.predicted, "s3" if right else "s2")):
        axes.line(times, raster.membrane[:, named].tolist(), kind)
    axes.label(f"{raster.label} (true)", "end s3")
    if not right:
        axes.label(f"{raster.predicted} (predicted)", "end s2")
    axes.x_axis("time (ms)")
    return axes.parts()


def _outputs(
    raster: SampleTrace, targets: np.ndarray, duration_ms: float, step_ms: float
) -> List[str]:
    """Draw the first outputs of a regression as lines, and their targets as dashed lines."""
    steps, outputs = raster.membrane.shape
    wanted = np.broadcast_to(targets, (steps, outputs))
    shown = min(outputs, MOST_OUTPUTS)
    both = np.concatenate([raster.membrane[:, :shown], wanted[:, :shown]])
    low, high = float(both.min()), float(both.max())
    if low == high:
        low, high = low - 1.0, high + 1.0
    axes = Axes(READOUT_HEIGHT, (0.0, duration_ms), (low, high))
    axes.label("readout", "panel-name")
    axes.label("membrane of each output, and its target")
    if shown < outputs:
        axes.label(f"{shown} of {outputs:,} drawn")
    times = [(step + 1) * step_ms for step in range(steps)]
    if low < 0.0 < high:
        axes.grid_line(axes.y(0.0))
    for output in range(shown):
        axes.line(times, wanted[:, output].tolist(), "train")
        axes.line(times, raster.membrane[:, output].tolist(), layer_class(output + 1))
        axes.label(f"output {output}", f"end {layer_class(output + 1)}")
    axes.x_axis("time (ms)")
    return axes.parts()
