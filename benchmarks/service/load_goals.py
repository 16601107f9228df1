"""Compare the figures of `load` with their goals.

    python -m benchmarks.service load-goals FILE.csv

FILE is what `load --output FILE` has written; `load` prints the same at its end. The goals are in
`load_goals.csv`: what a figure is at `most`, or at `least`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish, read_table

GOALS = Path(__file__).with_suffix(".csv")


def compared(figures: Iterable[Mapping[str, object]]) -> list[Row]:
    """Return a row for each goal of which there is a figure."""
    found = {(row["part"], row["system"], row["figure"]): row["value"] for row in figures}
    rows: list[Row] = []
    for goal in read_table(GOALS)[1]:
        value = found.get((goal["part"], goal["system"], goal["figure"]))
        if value is None:
            continue
        measured, bound = float(str(value)), float(goal["goal"])
        is_met = measured <= bound if goal["bound"] == "most" else measured >= bound
        rows.append(
            {
                "part": goal["part"],
                "system": goal["system"],
                "figure": goal["figure"],
                "measured": measured,
                "goal": f"at {goal['bound']} {bound:g}",
                "met": "yes" if is_met else "no",
            }
        )
    return rows


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service load-goals", __doc__)
    parser.add_argument("file", type=Path, metavar="FILE.csv")
    options = parser.parse_args(arguments)
    finish(compared(read_table(options.file)[1]), options.output)
