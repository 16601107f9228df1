"""What weights in bfloat16 gain: both passes beside those with float32 weights, in turns.

python -m benchmarks.weight_types                    every point
python -m benchmarks.weight_types --point B --seconds 5
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from benchmarks import growth, ops, ours
from benchmarks.machine import Load
from benchmarks.results import DIRECTORY, Results
from benchmarks.tables import table
from benchmarks.turns import summary
from benchmarks.workload import CONFIGS, Workload, draw
from ipulse_ops.training.weight_types import WEIGHT_TYPES

THREADS = 2
WIDE = "16384 neurons"
POINTS = ("B", "D", WIDE)
VARIANTS = ("gated 0.9", "exact")


def workload(point: str) -> Workload:
    """A config's, or that of benchmarks.growth for a wide network."""
    if point == WIDE:
        return growth.workload(growth.Size(neurons=16384))
    return draw(CONFIGS[point])


def measure(point: str, variant: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of both passes with each type of weights."""
    work = workload(point)
    before = Load.now([os.getpid()])
    gate = ours.SECOND_THRESHOLD[variant]
    programs = [ops.build(work, gate, THREADS, dtype) for dtype in WEIGHT_TYPES]
    row: dict[str, Any] = {"point": point, "variant": variant}
    for what in ("forward", "train"):
        steps = [getattr(program, what) for program in programs]
        times: list[list[float]] = [[] for _ in steps]
        for step in steps:
            step()
        end = time.perf_counter() + seconds
        while len(times[0]) < 3 or time.perf_counter() < end:
            for step, found in zip(steps, times, strict=True):
                found.append(ops.milliseconds(step))
        row[what] = {
            dtype: summary(found, work.config.batch)
            for dtype, found in zip(WEIGHT_TYPES, times, strict=True)
        }
    return {**row, "others_load": before.until(Load.now([os.getpid()]))}


def told(rows: list[dict[str, Any]]) -> str:
    """The rows as a table: milliseconds, and how many times as fast bfloat16 is."""
    heads = ["point", "variant"]
    for what in ("forward", "training step"):
        heads += [f"{what}, float32", "bfloat16", "times as fast"]
    lines = []
    for row in rows:
        line = [row["point"], row["variant"]]
        for what in ("forward", "train"):
            wide, narrow = (row[what][dtype]["ms"] for dtype in WEIGHT_TYPES)
            line += [f"{wide:.1f}", f"{narrow:.1f}", f"{wide / narrow:.2f}"]
        lines.append(line)
    return table(heads, lines)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.weight_types",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--point", choices=POINTS, action="append")
    parser.add_argument("--variant", choices=VARIANTS, action="append")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each point and pass")
    options = parser.parse_args(arguments)
    results = Results("weight_types", ("point", "variant"), {}, DIRECTORY)
    for point in options.point or POINTS:
        for variant in options.variant or VARIANTS:
            row = measure(point, variant, options.seconds)
            results.put(row)
            print(told([row]), flush=True)


if __name__ == "__main__":
    main()
