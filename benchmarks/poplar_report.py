"""Writes the tables of docs/poplar_op.md from benchmarks/results/poplar_op.json.

python -m benchmarks.poplar_report
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.poplar_op import BATCH, CLOCK, PARTS, SIZES
from benchmarks.results import DIRECTORY, Row, read
from benchmarks.tables import table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "poplar_op.md"
BEGIN = "<!-- Written by `python -m benchmarks.poplar_report`; change the code or the results. -->"
END = "<!-- Until here. -->"
PASSES = ("forward", "backward", "adam")


def section(results: Path = DIRECTORY) -> str:
    """The generated part of the page."""
    rows = read("poplar_op", results)["rows"]
    costs = [row for row in rows if row["what"] == "cycles"]
    (speed,) = (row for row in rows if row["what"] == "speed")
    steps = costs[0]["settings"]["steps"]
    sizes = "-".join(map(str, SIZES))
    return "\n\n".join(
        [
            f"**Emulated cycles, never a device's**: {sizes}, {steps} steps, {BATCH} samples, one "
            "Mk2 of 1,472 tiles. A turn is one turn of the time loop; *once* is what a run does "
            f"besides. Milliseconds are of a whole run at {CLOCK / 1e9:g} GHz. Adam is one update.",
            _cycles(costs),
            "The programs of a turn:",
            _programs(costs),
            "What was in the slots on average, and what compiling took (forward and backward "
            "together, the op already built; others used the machine, too, most at 1 %):",
            _problems(costs),
            f"The emulator beside the CPU kernels: {'-'.join(map(str, speed['sizes']))} on 1,472 "
            f"tiles, {steps} steps, {BATCH} samples, capacity {speed['capacity']:.0%}, medians; "
            f"forward and backward together the emulator takes {speed['times']:.0f} times as long.",
            table(
                ["pass", "emulated s", "CPU s", "times"],
                [
                    [name, *(f"{speed[name][key]:.3g}" for key in speed[name])]
                    for name in ("forward", "backward")
                ],
            ),
        ]
    )


def _cycles(costs: list[Row]) -> str:
    lines = []
    for row in costs:
        for name in PASSES:
            turn, once, turns = row[name]["turn"], row[name]["once"], row[name]["turns"]
            total = sum(once.values()) + turns * sum(turn.values())
            cells = [f"{turn[part]:,.0f}" for part in PARTS]
            lines.append(
                [
                    f"{row['capacity']:.0%} {name}",
                    *(cells if turns else ["", "", "", ""]),
                    f"{sum(turn.values()):,.0f}" if turns else "",
                    f"{sum(once.values()):,.0f}",
                    f"{total / CLOCK * 1e3:.2f}",
                ]
            )
    return table(["capacity, pass", *PARTS, "a turn", "once", "ms a run"], lines)


def _programs(costs: list[Row]) -> str:
    lines = [
        [
            f"{row['capacity']:.0%} {program['name']}",
            f"{program['vertices']:,}",
            f"{program['exchange']:,.0f}",
            f"{program['compute']:,.0f}",
        ]
        for row in costs
        for name in PASSES
        for program in row[name]["programs"]
    ]
    return table(["capacity, compute set", "vertices", "exchange", "compute"], lines)


def _problems(costs: list[Row]) -> str:
    lines = [
        [
            f"{row['capacity']:.0%}",
            ", ".join(map(str, row["slots"])),
            ", ".join(f"{spikes:.1f}" for spikes in row["spikes"]),
            ", ".join(f"{filled:.1f}" for filled in row["filled"]),
            f"{row['load_balance']:.2f}",
            f"{row['fullest_tile_bytes']:,} of {row['tile_bytes']:,}",
            f"{row['compile_seconds']:.1f}",
            f"{row['compile_peak_mib']:,.0f}",
        ]
        for row in costs
    ]
    heads = ["capacity", "slots", "spikes", "filled", "load balance", "fullest tile, bytes"]
    return table([*heads, "compile s", "peak host MiB"], lines)


def written(page: str, text: str) -> str:
    """The page with the generated part replaced."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    """The command line."""
    PAGE.write_text(written(PAGE.read_text("utf-8"), section()), "utf-8")


if __name__ == "__main__":
    main()
