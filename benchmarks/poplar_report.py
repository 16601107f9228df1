"""Writes the tables of docs/poplar_op.md and docs/explanation/emulator.md from benchmarks/results.

python -m benchmarks.poplar_report
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.poplar_op import BATCH, CLOCK, PARTS, SIZES, SPLIT
from benchmarks.results import DIRECTORY, Row, read
from benchmarks.tables import table

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN = "<!-- Of {}, by `python -m benchmarks.poplar_report`; change the code or the results. -->"
END = "<!-- Until here. -->"
PASSES = ("forward", "backward", "adam")


def cost() -> str:
    """What a step and a run take on the emulated device."""
    rows = read("poplar_op", DIRECTORY)["rows"]
    every = [row for row in rows if row["what"] == "cycles"]
    costs = [row for row in every if row["ipus"] == 1]
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
            "together, the op already built):",
            _problems(costs),
            "Every layer on one IPU and split over two, of 1,472 tiles each; bytes cross from IPU "
            "to IPU in a turn. A tile has a pair of neurons at least, which it has on one IPU "
            "already: a second one saves memory here, and hardly time.",
            _split([row for row in every if row["capacity"] == SPLIT[0]]),
        ]
    )


def speed() -> str:
    """The emulator beside the CPU kernels."""
    (row,) = (row for row in read("poplar_op", DIRECTORY)["rows"] if row["what"] == "speed")
    text = (
        f"The LIF network {'-'.join(map(str, row['sizes']))} on 1,472 tiles, "
        f"{row['settings']['steps']} steps, {BATCH} samples, capacity {row['capacity']:.0%}: the "
        f"emulator takes {row['times']:.0f} times as long as the CPU kernels for a forward and a "
        "backward pass together. Medians, on two processors:"
    )
    lines = [
        [name, *(f"{row[name][key]:.3g}" for key in row[name])] for name in ("forward", "backward")
    ]
    return f"{text}\n\n{table(['pass', 'emulated s', 'CPU s', 'times'], lines)}"


def proof() -> str:
    """The op at full size beside the reference."""
    rows = read("poplar_proof", DIRECTORY)["rows"]
    settings = rows[0]["settings"]
    inputs, neurons, classes = settings["sizes"]
    same = {(row["case"], row["forward_sha256"]) for row in rows}
    equal = "equal" if len(same) == len({row["case"] for row in rows}) else "NOT equal"
    lines = [
        [
            row["case"],
            str(row["ipus"]),
            row["split"] if row["ipus"] > 1 else "",
            ", ".join(f"{spikes:.0f}" for spikes in row["spikes"]),
            ", ".join(f"{dropped:.0f}" for dropped in row["dropped"]),
            f"{row['gradient_error']:.1e}",
            *(f"{crossing:,.0f}" for crossing in row["bytes_between_ipus"]),
            f"{row['load_balance']:.2f}",
            f"{sum(row['seconds']):.1f}",
        ]
        for row in rows
    ]
    heads = ["network", "IPUs", "split", "spikes", "dropped", "gradient error"]
    heads += ["bytes forward", "backward", "load balance", "s"]
    return (
        f"{inputs}-{neurons}-{neurons}-{classes} on 1,472 tiles an IPU, {settings['steps']} steps, "
        f"{settings['batch']} samples, weights k / 64. Every row's spikes, slots, drops and "
        "membranes are those of the float64 reference **to the bit**, or the command fails; the "
        f"forward results of 1 and more IPUs are {equal}. *Gradient error* is the largest "
        "difference from the reference's, of the largest gradient of its kind. *Bytes* cross from "
        "IPU to IPU in a turn of the time loop; spikes are of a sample and step.\n\n"
        + table(heads, lines)
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


def _split(costs: list[Row]) -> str:
    lines = [
        [
            f"{row['capacity']:.0%} {name}",
            str(row["ipus"]),
            *(f"{row[name]['turn'][part]:,.0f}" for part in PARTS[:3]),
            f"{sum(row[name]['turn'].values()):,.0f}",
            f"{row[name]['bytes_between_ipus']:,.0f}",
            f"{row['fullest_tile_bytes']:,}",
        ]
        for name in PASSES[:2]
        for row in costs
    ]
    heads = ["capacity, pass", "IPUs", *PARTS[:3], "a turn", "bytes between IPUs"]
    return table([*heads, "fullest tile, bytes"], lines)


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


PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "poplar_op.md": (cost, proof),
    "emulator.md": (speed,),
}


def written(name: str) -> str:
    """A page of docs/ with its generated parts replaced."""
    page = (DOCS / name).read_text("utf-8")
    for part in PAGES[name]:
        begin = BEGIN.format(part.__name__)
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{part()}\n\n{END}{rest.split(END, 1)[1]}"
    return page


def main() -> None:
    """The command line."""
    for name in PAGES:
        (DOCS / name).write_text(written(name), "utf-8")


if __name__ == "__main__":
    main()
