"""The tables of docs/performance.md, as Markdown, from rows of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.results import Row
from benchmarks.work_counts import placed
from benchmarks.workload import CONFIGS


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown; columns are right-aligned but the first."""
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ms(value: float) -> str:
    """Milliseconds with three digits."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def breakdown(rows: list[Row]) -> str:
    """Milliseconds and shares of each part, a column per config and variant."""
    parts = list(dict.fromkeys(part for row in rows for part in row["parts_ms"]))
    lines = [["whole step", *(ms(row["step_ms"]) for row in rows)]]
    for part in parts:
        cells = []
        for row in rows:
            spent = row["parts_ms"].get(part)
            cells.append("" if spent is None else f"{ms(spent)} ({spent / row['step_ms']:.0%})")
        lines.append([part, *cells])
    lines.append(["other load", *(f"{row['others_load']:.2f}" for row in rows)])
    return table(["ms", *(f"{row['config']} {row['variant']}" for row in rows)], lines)


def machine_limits(rows: list[Row]) -> str:
    """Figures of benchmarks.roofline, a column per number of threads."""
    names = list(rows[0]["figures"])
    lines = []
    for name in names:
        flops = name.startswith(("multiply", "sgemm"))
        text = name.replace("_", " ") + (", GFLOP/s" if flops else ", GB/s")
        lines.append([text, *(f"{row['figures'][name]:.0f}" for row in rows)])
    lines.append(["other load", *(f"{row['others_load']:.2f}" for row in rows)])
    return table(["", *(f"{row['threads']} thread(s)" for row in rows)], lines)


def rates(rows: list[Row]) -> str:
    """GFLOP/s and GB/s of each part."""
    points = [(row, placed(row, CONFIGS[row["config"]])) for row in rows]
    parts = list(dict.fromkeys(part for _, found in points for part in found))
    lines = []
    for part in parts:
        cells = [
            f"{found[part]['gflops']:.0f} / {found[part]['gb_per_s']:.0f}" if part in found else ""
            for _, found in points
        ]
        lines.append([part, *cells])
    heads = ["GFLOP/s / GB/s", *(f"{row['config']} {row['variant']}" for row, _ in points)]
    return table(heads, lines)


def stored(rows: list[Row]) -> str:
    """Bytes per sample for the backward pass."""
    lines = [
        [
            f"{row['config']} {row['variant']}",
            row["store"],
            f"{row['total']:.0f}",
            f"{row['history']:.0f}",
            f"{row['share_of_history']:.1%}",
        ]
        for row in rows
    ]
    return table(["config, variant", "stores", "bytes", "all membranes", "share"], lines)
