"""Render the cases of the programs in examples/questions as Markdown tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.common.tables import Row, markdown

INPUTS = 1024  # of activity.cpp
Cases = list[Row]


def series(cases: Cases, name: str) -> dict[int, Row]:
    """Return the rows of one case by the size that varies."""
    return {row["at"]: row for row in cases if row["case"] == name}


def names(cases: Cases) -> list[str]:
    """Return the names of the cases in the program's order."""
    return list(dict.fromkeys(row["case"] for row in cases))


def number(value: float) -> str:
    """Format a number with commas; fractions with one digit."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def by_case(*figures: str) -> Callable[[Cases], str]:
    """Return a renderer with a line per case."""

    def render(cases: Cases) -> str:
        rows = [[row["case"], *(number(row[figure]) for figure in figures)] for row in cases]
        return markdown(["", *figures], rows)

    return render


def by_size(head: str, *figures: str, only: Sequence[str] = ()) -> Callable[[Cases], str]:
    """Return a renderer with a line per size and a column per case and figure."""

    def render(cases: Cases) -> str:
        shown = list(only) or names(cases)
        rows = {name: series(cases, name) for name in shown}
        sizes = list(dict.fromkeys(row["at"] for row in cases if row["case"] in shown))
        heads = [head]
        for name in shown:
            heads += [name if len(figures) == 1 else f"{name}: {figure}" for figure in figures]

        def cells(at: int) -> list[str]:
            return [
                number(rows[name][at][figure]) if at in rows[name] else ""
                for name in shown
                for figure in figures
            ]

        return markdown(heads, [[number(at), *cells(at)] for at in sizes])

    return render


def per_index(floats: dict[str, int]) -> Callable[[Cases], str]:
    """Return a renderer of the cycles per index, from two sizes of each case.

    floats: how many floats an index moves, by case, where it is not one.
    """

    def render(cases: Cases) -> str:
        lines = []
        for name in names(cases):
            (few, less), (many, more) = sorted(series(cases, name).items())
            cycles = (more["compute"] - less["compute"]) / (many - few)
            lines.append([name, *map(number, (cycles, cycles / 6, cycles / floats.get(name, 1)))])
        return markdown(["", "cycles per index", "bundles", "cycles per float"], lines)

    return render


def crossing(cases: Cases, first: str, second: str, figure: str) -> float | None:
    """Return the size from which `first` costs more than `second`, interpolated linearly."""
    one, other = series(cases, first), series(cases, second)
    sizes = sorted(set(one) & set(other))
    gap = {at: one[at][figure] - other[at][figure] for at in sizes}
    for low, high in pairwise(sizes):
        if gap[low] <= 0 < gap[high]:
            return low + (high - low) * -gap[low] / (gap[high] - gap[low])
    return None


def activity(cases: Cases) -> str:
    """Render the activities from which one representation costs more than another."""
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
    shown = [row for row in cases if row["at"] in (10, 40, 102, 256, 1024)]
    exchanged = ("16-bit ids", "32-bit ids", "16-bit ids, all slots sent", "bit mask", "dense")
    computed = ("16-bit ids", "bit mask", "dense", "dense, matMul")
    return "\n\n".join(
        [
            "![Cycles of a step by activity](../images/questions-activity.png)",
            markdown(["", "by exchange", "by compute", "by the whole step"], lines),
            "Cycles of the exchange:",
            by_size("spikes", "exchange", only=exchanged)(shown),
            "Cycles of the compute phase:",
            by_size("spikes", "compute", only=computed)(shown),
        ]
    )


def step(cases: Cases) -> str:
    """Render cycles by the number of tiles, with the picture."""
    table = by_size("tiles", "cycles", "sync", "exchange", "compute")(cases)
    picture = "![Cycles of a step by tiles](../images/questions-step.png)"
    return f"{picture}\n\n{table.replace('a layer on so many tiles: ', '')}"


def tiles(cases: Cases) -> str:
    """Render patterns by the number of tiles, and the states of two samples by their first tile."""
    *patterns, states = names(cases)
    lines = [
        [f"{states}, from tile {row['at']} on", *map(number, (row["exchange"], row["compute"]))]
        for row in cases
        if row["case"] == states
    ]
    first = by_size("tiles", "exchange", only=patterns)(cases)
    return f"{first}\n\n{markdown(['', 'exchange', 'compute'], lines)}"


def several_ipus(cases: Cases) -> str:
    """Render the links by size, and computing while sending."""
    links, work = names(cases)[:3], names(cases)[3:]
    first = by_size("bytes", "exchange", only=links)(cases)
    both = by_case("sync", "exchange", "compute", "cycles")
    return f"{first}\n\n{both([row for row in cases if row['case'] in work])}"


def fixed_share(cases: Cases) -> str:
    """Render an exchange by size, with the share of its cycles that any size costs."""
    there = series(cases, "there")
    fixed = there[min(there)]["cycles"] - 1  # the smallest exchange is one word
    lines = [
        [
            number(at),
            *(number(series(cases, name)[at]["cycles"]) for name in names(cases)),
            f"{fixed / row['cycles']:.0%}",
        ]
        for at, row in there.items()
    ]
    return markdown(["bytes", *names(cases), "same for any size"], lines)


RENDERERS: dict[str, Callable[[Cases], str]] = {
    "activity": activity,
    "allocation": by_size("steps", "cycles"),
    "exchange": fixed_share,
    "host_copies": by_size("bytes", "cycles"),
    "in_place": by_size("elements per tile", "compute", "exchange"),
    "index_types": per_index({}),
    "layers": by_size("layers", "cycles"),
    "loops": by_size("steps", "control code", "state"),
    "multi_vertices": by_size("vertices", "compute", "state"),
    "one_input": by_size("vertices", "exchange", "message"),
    "read_add_write": per_index({"pairs": 2}),
    "send_or_not": by_size("words", "cycles"),
    "several_ipus": several_ipus,
    "shuffle": by_size("neurons", "cycles"),
    "slices": by_case("cycles", "sync", "exchange", "compute", "variable"),
    "step": step,
    "tiles": tiles,
    "weight_gradient": by_size("neurons", "cycles"),
    "workers": by_size("neurons", "compute", "state"),
}


def draw(name: str, cases: Cases, folder: Path) -> None:
    """Draw the picture of `activity` or `step` into the folder."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    columns = ("cycles", "exchange") if name == "activity" else ("",)
    figure, grid = pyplot.subplots(1, len(columns), squeeze=False, figsize=(5 * len(columns), 3))
    for axes, column in zip(grid[0], columns, strict=True):
        if name == "activity":
            for case in names(cases):
                rows = series(cases, case)
                percent = [100 * at / INPUTS for at in sorted(rows)]
                cycles = [rows[at][column] for at in sorted(rows)]
                axes.plot(percent, cycles, marker=".", label=case)
            title = "a step" if column == "cycles" else "exchange"
            axes.set(title=title, xlabel="% of neurons that spike", ylabel="cycles")
        else:
            for part in ("cycles", "compute", "exchange", "sync"):
                sizes = [row["at"] for row in cases]
                axes.plot(sizes, [row[part] for row in cases], marker=".", label=part)
            axes.set(xlabel="tiles of the layer", ylabel="cycles")
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_major_formatter("{x:g}")
    grid[0][-1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(folder / f"questions-{name}.png", dpi=80, bbox_inches="tight")
    pyplot.close(figure)
