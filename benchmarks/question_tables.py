"""The tables and plots of docs/questions.md, from benchmarks/results/questions.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.results import DIRECTORY, Row, read
from benchmarks.tables import table

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "questions.md"
INPUTS, SAMPLES = 1024, 48  # of activity.cpp
_BLOCK = re.compile(r"<!-- figures: (\w+) -->\n(.*?)<!-- until here -->", re.DOTALL)


def series(cases: list[Row], name: str) -> dict[int, Row]:
    """The rows of one case, by what it varies."""
    return {row["at"]: row for row in cases if row["case"] == name}


def names(cases: list[Row]) -> list[str]:
    """The cases, in the program's order."""
    return list(dict.fromkeys(row["case"] for row in cases))


def number(value: float) -> str:
    """With commas; fractions with one digit."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def by_case(*figures: str) -> Callable[[list[Row]], str]:
    """A line a case."""

    def render(cases: list[Row]) -> str:
        rows = [[row["case"], *(number(row[one]) for one in figures)] for row in cases]
        return table(["", *figures], rows)

    return render


def by_at(head: str, *figures: str, of: Sequence[str] = ()) -> Callable[[list[Row]], str]:
    """A line a size, a column a case (or those of `of`) and figure."""

    def render(cases: list[Row]) -> str:
        shown = list(of) or names(cases)
        found = {name: series(cases, name) for name in shown}
        sizes = list(dict.fromkeys(row["at"] for row in cases if row["case"] in shown))
        heads = [head]
        for name in shown:
            heads += [name if len(figures) == 1 else f"{name}: {figure}" for figure in figures]
        lines = [
            [
                number(at),
                *(
                    number(found[name][at][figure]) if at in found[name] else ""
                    for name in shown
                    for figure in figures
                ),
            ]
            for at in sizes
        ]
        return table(heads, lines)

    return render


def per_index(elements: dict[str, int]) -> Callable[[list[Row]], str]:
    """Cycles of one more index, from two sizes of each case; `elements` that an index moves."""

    def render(cases: list[Row]) -> str:
        lines = []
        for name in names(cases):
            (few, less), (many, more) = sorted(series(cases, name).items())
            cycles = (more["compute"] - less["compute"]) / (many - few)
            moved = elements.get(name, 1)
            lines.append([name, *map(number, (cycles, cycles / 6, cycles / moved))])
        return table(["", "cycles an index", "bundles", "cycles a float"], lines)

    return render


def crossing(cases: list[Row], first: str, second: str, figure: str) -> float | None:
    """Where `first`, cheaper before, costs as much as `second`: linear between two sizes."""
    one, other = series(cases, first), series(cases, second)
    both = sorted(set(one) & set(other))
    gap = {at: one[at][figure] - other[at][figure] for at in both}
    for low, high in pairwise(both):
        if gap[low] <= 0 < gap[high]:
            return low + (high - low) * -gap[low] / (gap[high] - gap[low])
    return None


def activity(cases: list[Row]) -> str:
    """The sweep, its crossings and its plot."""
    pairs = [
        ("16-bit ids", "bit mask"),
        ("32-bit ids", "bit mask"),
        ("16-bit ids", "dense"),
        ("16-bit ids", "dense, matMul"),
    ]
    lines = []
    for first, second in pairs:
        line = [f"{first} cost more than {second}, from"]
        for figure in ("exchange", "compute", "cycles"):
            at = crossing(cases, first, second, figure)
            line.append("never" if at is None else f"{at / INPUTS:.1%}")
        lines.append(line)
    masked = [name for name in names(cases) if name != "16-bit ids, all slots sent"]
    computed = [name for name in masked if name != "32-bit ids"]
    return "\n\n".join(
        [
            "![Cycles of a step against activity](images/questions-activity.svg)",
            table(["", "by exchange", "by compute", "by the whole step"], lines),
            "Exchange:",
            by_at("spikes", "exchange")([row for row in cases if row["case"] != "dense, matMul"]),
            "Compute:",
            by_at("spikes", "compute", of=computed)(cases),
        ]
    )


def step(cases: list[Row]) -> str:
    """The sweep, and the plot."""
    most = max(cases, key=lambda row: row["at"])
    times = most["compute"] / (most["exchange"] + most["sync"])
    words = (
        f"On {most['at']} tiles, two neurons each, compute is still {times:.0f} times as long as "
        "exchange and sync together."
    )
    shown = by_at("tiles", "cycles", "sync", "exchange", "compute")
    heads = shown(cases).replace("a layer on so many tiles: ", "")
    return "\n\n".join(
        ["![Cycles of a step against tiles](images/questions-step.svg)", words, heads]
    )


def tiles(cases: list[Row]) -> str:
    """Patterns by the number of tiles, and the states of two samples by their first tile."""
    *patterns, states = names(cases)
    rows = [row for row in cases if row["case"] == states]
    lines = [
        [f"{states}, from tile {row['at']} on", *map(number, (row["exchange"], row["compute"]))]
        for row in rows
    ]
    return (
        by_at("tiles", "exchange", of=patterns)(cases)
        + "\n\n"
        + table(["", "exchange", "compute"], lines)
    )


def several_ipus(cases: list[Row]) -> str:
    """Links, and computing while sending."""
    links, work = names(cases)[:3], names(cases)[3:]
    both = by_case("sync", "exchange", "compute", "cycles")
    return (
        by_at("bytes", "exchange", of=links)(cases)
        + "\n\n"
        + both([row for row in cases if row["case"] in work])
    )


def shares(cases: list[Row]) -> str:
    """Cycles that are the same whatever an exchange carries, and where bytes take as long."""
    there = series(cases, "there")
    fixed = there[min(there)]["cycles"] - 1  # the smallest is one word
    lines = [
        [
            number(at),
            *(number(series(cases, name)[at]["cycles"]) for name in names(cases)),
            f"{fixed / row['cycles']:.0%}",
        ]
        for at, row in there.items()
    ]
    words = (
        f"{fixed} cycles are the same for any size: as much as {number(fixed * 4)} bytes take "
        "on their way."
    )
    return f"{words}\n\n{table(['bytes', *names(cases), 'same for any size'], lines)}"


# By program: how its cases are shown.
RENDERERS: dict[str, Callable[[list[Row]], str]] = {
    "activity": activity,
    "allocation": by_at("steps", "cycles"),
    "exchange": shares,
    "host_copies": by_at("bytes", "cycles"),
    "in_place": by_at("elements of a tile", "compute", "exchange"),
    "index_types": per_index({}),
    "layers": by_at("layers", "cycles"),
    "loops": by_at("steps", "control code", "state"),
    "multi_vertices": by_at("vertices", "compute", "state"),
    "one_input": by_at("vertices", "exchange", "message"),
    "read_add_write": per_index({"pairs": 2}),
    "send_or_not": by_at("words", "cycles"),
    "several_ipus": several_ipus,
    "shuffle": by_at("neurons", "cycles"),
    "slices": by_case("cycles", "sync", "exchange", "compute", "variable"),
    "step": step,
    "tiles": tiles,
    "weight_gradient": by_at("neurons", "cycles"),
    "workers": by_at("neurons", "compute", "state"),
}


def _draw_activity(cases: list[Row], path: Path) -> None:
    with plots.drawing(7.5, 3.2) as figure:
        whole, moved = figure.subplots(1, 2)
        crossings = {
            "cycles": [("16-bit ids", "dense, matMul", "C0")],
            "exchange": [("16-bit ids", "bit mask", "C0"), ("32-bit ids", "bit mask", "C1")],
        }
        for axes, key, title in ((whole, "cycles", "a step"), (moved, "exchange", "exchange")):
            for name in names(cases):
                _plot(axes, series(cases, name), key, name)
            for first, second, color in crossings[key]:
                at = crossing(cases, first, second, key)
                if at is None:
                    continue
                axes.axvline(100 * at / INPUTS, color=color, linewidth=0.6, linestyle=":")
                axes.annotate(
                    f"{at / INPUTS:.1%}",
                    (100 * at / INPUTS, 1),
                    xycoords=("data", "axes fraction"),
                    ha="center",
                    va="bottom",
                    color=color,
                )
            axes.set(xscale="log", yscale="log", xlabel="% of neurons that spike", ylabel="cycles")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_title(title, pad=14)
        moved.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        plots.save(figure, path)


def _plot(axes: Any, rows: dict[int, Row], figure: str, name: str) -> None:
    points = [(100 * at / INPUTS, row[figure]) for at, row in sorted(rows.items())]
    axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)


def _draw_step(cases: list[Row], path: Path) -> None:
    with plots.drawing(5.0, 3.0) as figure:
        axes = figure.subplots()
        for key in ("cycles", "compute", "exchange", "sync"):
            points = [(row["at"], row[key]) for row in cases]
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=key)
        axes.set(xscale="log", yscale="log", xlabel="tiles of the layer", ylabel="cycles")
        axes.set_xticks([row["at"] for row in cases], minor=False)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.legend(frameon=False)
        plots.save(figure, path)


def block(name: str, rows: list[Row]) -> str:
    """The generated part of the page that is called `name`."""
    (row,) = (one for one in rows if one["program"] == name)
    command = f"ipulse emulate examples/questions/{name}.cpp --no-profile"
    return f"`{command}`\n\n{RENDERERS[name](row['cases'])}"


def written(page: str, rows: list[Row]) -> str:
    """The page with its generated parts replaced."""
    return _BLOCK.sub(
        lambda found: (
            f"<!-- figures: {found[1]} -->\n\n{block(found[1], rows)}\n\n<!-- until here -->"
        ),
        page,
    )


def shown(page: str) -> list[str]:
    """The names of the page's generated parts."""
    return [found[1] for found in _BLOCK.finditer(page)]


def write(results: Path = DIRECTORY) -> None:
    """Writes the page and its plots."""
    rows = read("questions", results)["rows"]
    by_name = {row["program"]: row["cases"] for row in rows}
    _draw_activity(by_name["activity"], DOCS / "images" / "questions-activity.svg")
    _draw_step(by_name["step"], DOCS / "images" / "questions-step.svg")
    PAGE.write_text(written(PAGE.read_text("utf-8"), rows), "utf-8")
