"""How time and memory grow, as tables of docs/performance.md, from rows of benchmarks.growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from benchmarks.results import Row
from benchmarks.tables import ms, table

SPIKES_COUNT = 0.03  # activity from which on spikes take more time than what is there without them
DENSE_LIMIT = 1.1  # times the dense products: the goal for high activity


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Slope of the least-squares line through the points' logarithms."""
    xs = [math.log(x) for x, _ in points]
    ys = [math.log(y) for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def exponents(rows: list[Row]) -> str:
    """Fitted exponents of time and memory along each axis."""
    lines = []
    groups = by_axis(rows)
    busy = [
        (key, [row for row in group if row["value"] >= SPIKES_COUNT])
        for key, group in groups
        if key[0] == "activity"
    ]
    for (axis, variant), group in sorted(groups + busy, key=lambda pair: pair[0]):
        if len(group) < 2:
            continue
        line = [f"{axis}, {variant}", f"{group[0]['value']:g} to {group[-1]['value']:g}"]
        for what in ("forward", "train", "dense_train"):
            line.append(f"{exponent([(row['value'], row[what]['ms']) for row in group]):.2f}")
        line.append(
            f"{exponent([(row['value'], max(row['step_mib'], 1e-3)) for row in group]):.2f}"
        )
        lines.append(line)
    heads = ["along", "from", "forward", "training step", "dense products", "step's memory"]
    return table(heads, lines)


def by_axis(rows: list[Row]) -> list[tuple[tuple[str, str], list[Row]]]:
    """Rows of benchmarks.growth, each group by rising value."""

    def place(row: Row) -> tuple[str, str]:
        return row["axis"], row["variant"]

    ordered = sorted(rows, key=lambda row: (*place(row), row["value"]))
    return [(key, list(group)) for key, group in groupby(ordered, place)]


def against_dense(rows: list[Row]) -> str:
    """Our time over that of the dense products, by activity."""
    lines: list[list[Any]] = []
    chosen = [row for row in rows if row["axis"] == "activity"]
    for row in sorted(chosen, key=lambda row: (row["variant"], row["value"])):
        line = [row["variant"], ", ".join(f"{100 * rate:.2g} %" for rate in row["rates"])]
        for what in ("forward", "train"):
            line += [ms(row[what]["ms"]), f"{row[what]['ms'] / row[f'dense_{what}']['ms']:.2f}"]
        lines.append([*line, f"{row['others_load']:.2f}"])
    heads = ["variant", "activity of the hidden layers", "forward, ms", "over dense"]
    return table([*heads, "training step, ms", "over dense", "other load"], lines)


def dense_limit(rows: list[Row]) -> str:
    """Of each variant and pass the highest ratio to the dense products at any activity, beside the
    goal."""
    lines = []
    for (axis, variant), group in by_axis(rows):
        for what in ("forward", "train") if axis == "activity" else ():
            ratio, row = max(
                ((row[what]["ms"] / row[f"dense_{what}"]["ms"], row) for row in group),
                key=lambda pair: pair[0],
            )
            place = ", ".join(f"{100 * rate:.2g} %" for rate in row["rates"])
            verdict = "met" if ratio <= DENSE_LIMIT else "**missed**"
            passes = "training step" if what == "train" else what
            lines.append([f"{passes}, {variant}", f"{ratio:.2f}", place, verdict])
    heads = ["pass", "at worst over dense", "at an activity of"]
    return table([*heads, f"at most {DENSE_LIMIT:.2f}"], lines)
