"""The plots of docs/performance.md as SVG, the same bytes from the same results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from benchmarks.results import Row
from benchmarks.work_counts import placed
from benchmarks.workload import CONFIGS

LEVELS = ("L1", "L2", "L3", "DRAM")
MARKERS = {"A": "o", "B": "s", "C": "^", "D": "D"}
# Neither time nor random ids in the file.
STYLE: dict[str, Any] = {"svg.hashsalt": "performance", "svg.fonttype": "none", "font.size": 8}


def save(figure: Figure, path: Path) -> None:
    """Writes the SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    # Matplotlib leaves blanks at line ends.
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", "utf-8")


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A figure in inches, in this page's style."""
    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def roofline(machine: Row, rows: list[Row], variant: str, path: Path) -> None:
    """The parts of a step under the machine's roofs; `machine` is a row of benchmarks.roofline."""
    figures = machine["figures"]
    with drawing(7.5, 4.2) as figure:
        axes = figure.subplots()
        span = [2.0 ** (exponent / 4) for exponent in range(-16, 33)]
        peak = figures["multiply_add"]
        for level in LEVELS:
            bandwidth = figures[f"read_{level}"]
            axes.plot(span, [min(peak, x * bandwidth) for x in span], color="0.6", linewidth=0.8)
            axes.text(span[0], span[0] * bandwidth * 1.1, f"{level} {bandwidth:.0f} GB/s")
        axes.text(span[-1], peak * 1.1, f"{peak:.0f} GFLOP/s", ha="right")
        parts: dict[str, str] = {}
        for row in rows:
            for part, point in placed(row, CONFIGS[row["config"]]).items():
                color = parts.setdefault(part, f"C{len(parts)}")
                axes.plot(
                    point["intensity"],
                    point["gflops"],
                    MARKERS[row["config"]],
                    color=color,
                    markersize=4,
                )
        for part, color in parts.items():
            axes.plot([], [], "o", color=color, label=part, markersize=4)
        for config, marker in MARKERS.items():
            axes.plot([], [], marker, color="0.3", label=f"config {config}", markersize=4)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="operations per byte",
            ylabel="GFLOP/s",
            title=f"{variant}, {machine['threads']} threads",
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        save(figure, path)


def growth(rows: list[Row], path: Path) -> None:
    """Milliseconds, ours and dense, and MiB along each axis."""
    names = sorted({row["axis"] for row in rows})
    with drawing(9.0, 2.2 * len(names)) as figure:
        grid = figure.subplots(len(names), 3, squeeze=False)
        for name, line in zip(names, grid, strict=True):
            _grow_along(name, [row for row in rows if row["axis"] == name], line)
        grid[0][0].legend(frameon=False)
        save(figure, path)


def _grow_along(name: str, rows: list[Row], line: Any) -> None:
    labels = {"forward": "ms, forward", "train": "ms, training step", "step_mib": "MiB, step"}
    for axes, (what, label) in zip(line, labels.items(), strict=True):
        for variant in sorted({row["variant"] for row in rows}):
            points = sorted(
                (row["value"], row[what] if what == "step_mib" else row[what]["ms"])
                for row in rows
                if row["variant"] == variant
            )
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=variant)
        if what != "step_mib":
            points = sorted(
                (row["value"], row[f"dense_{what}"]["ms"])
                for row in rows
                if row["variant"] == "gated 0.9"
            )
            axes.plot(*zip(*points, strict=True), "--", color="0.5", label="dense products")
        axes.set(xscale="log", yscale="log", xlabel=name, ylabel=label)
