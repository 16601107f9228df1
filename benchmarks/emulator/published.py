"""Compare the emulator's cycles with published figures of IPUs.

    python -m benchmarks.emulator published
    python -m benchmarks.emulator published --check    exit code 1 if a ratio is beyond 2

The kernels are those of published.cpp, written anew after the published ones. A ratio above 1 says
that the emulator predicts more cycles than were measured. `others' band` is the factor that the
band has if all figures of that source are left out: `inside` says whether the ratio is within it.
"""

from __future__ import annotations

import itertools
import math
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from ipulse_core.pva.band import FACTOR, SHARE

PROGRAM = Path(__file__).with_name("published.cpp")
WORST = 2.0
ORDERED = 1.5  # published figures that differ by more have an order
PI = "github.com/UCL-RITS/pi_examples"
HEAT = "github.com/simehaa/IPU"
HEAT_AGAIN = "github.com/TszwangKo/FYP_IPU_DEVITO"
COOKBOOK = "github.com/UoB-HPC/ipu-hpc-cookbook"
SPLATTING = "github.com/nmjfry/ipu-3dgs"
SHEET = "data sheet of the GC200"


class Figure(NamedTuple):
    """A published figure, its source, and the case of the program that is compared with it."""

    name: str
    source: str
    published: float  # cycles of a tile
    case: str  # of the program
    factor: float = 1  # from the case's cycles to the published figure


def _figures() -> list[Figure]:
    mk2, c600 = 1.33e9, 1.85e9
    cells, tiles = 360**3 / 1472 / 6, 1472
    heat = cells / (17 * 17 * 18)  # the published mesh has some more cells for each worker
    mk1_triad = 6144 * 12 / (8e12 / 1216 / 1.6e9)
    exchange = 16384 * 4 / (8e12 / tiles / mk2)
    return [
        Figure("pi, 1,000 slices, C++", PI, 90_084, "slices_1000"),
        Figure("pi, 2,917,776 slices, C++", PI, 262_599_924, "slices_100000", 29.17776),
        Figure("pi, 2,917,776 slices, Julia", PI, 245_093_526, "slices_100000", 29.17776),
        Figure("pi, 1,000 slices, Julia, 2 a turn", PI, 57_318, "turns_of_2_1000"),
        Figure(
            "pi, 2,917,776 slices, Julia, 12 a turn",
            PI,
            138_594_708,
            "turns_of_12_120000",
            2917776 / 120000,
        ),
        Figure("heat equation in 3D, a step", HEAT, 0.43e-3 * mk2, "heat_17_17_18", heat),
        Figure("the same, repeated by others", HEAT_AGAIN, 0.36e-3 * mk2, "heat_17_17_18", heat),
        Figure("STREAM triad, Mk1, 8 TB/s", COOKBOOK, mk1_triad, "triad_6144"),
        Figure("multiSlice, 576,000 of 44,000 rows", SPLATTING, 0.238e-3 * c600, "gather_576000"),
        Figure("exchange of all tiles, 8 TB/s", SHEET, exchange, "exchange_16384"),
    ]


def measure() -> list[Row]:
    """Return a row per figure. Raises CalledProcessError."""
    command = [sys.executable, "-m", "ipulse", "emulate", str(PROGRAM), "--no-profile"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    cycles = {name: float(number) for name, number in map(str.split, done.stdout.splitlines())}
    rows: list[Row] = []
    for figure in _figures():
        emulated = cycles[figure.case] * figure.factor
        rows.append(
            {
                "kernel": figure.name,
                "source": figure.source,
                "published (cycles)": round(figure.published),
                "emulated (cycles)": round(emulated),
                "ratio": emulated / figure.published,
            }
        )
    return rows


def factor_of(ratio: float) -> float:
    """Return how far off a ratio is, either way."""
    return max(ratio, 1 / ratio)


def band_factor(ratios: Iterable[float]) -> float:
    """Return the factor within which another ratio lies with the probability `SHARE`.

    It is the quantile of split conformal prediction: of n factors the k-th, k = SHARE (n + 1).
    """
    factors = sorted(map(factor_of, ratios))
    return factors[min(math.ceil(SHARE * (len(factors) + 1)), len(factors)) - 1]


def leave_out(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the band of the other figures, and of those of other sources."""
    judged: list[Row] = []
    for at, row in enumerate(rows):
        others = [float(each["ratio"]) for i, each in enumerate(rows) if i != at]
        apart = [float(each["ratio"]) for each in rows if each["source"] != row["source"]]
        ratio, band = float(row["ratio"]), band_factor(others)
        inside = factor_of(ratio) <= band
        by_source = factor_of(ratio) <= band_factor(apart)
        judged.append(
            {
                **row,
                "others' band": band,
                "inside": "yes" if inside else "no",
                "inside without the source": "yes" if by_source else "no",
            }
        )
    return judged


def ordered(rows: Sequence[Row]) -> tuple[int, int]:
    """Return how many pairs are in the published order, and how many pairs have one."""
    right = pairs = 0
    for one, other in itertools.combinations(rows, 2):
        less, more = sorted((one, other), key=lambda row: float(row["published (cycles)"]))
        if more["published (cycles)"] >= ORDERED * less["published (cycles)"]:
            pairs += 1
            right += less["emulated (cycles)"] < more["emulated (cycles)"]
    return right, pairs


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = command_line.parser("emulator published", __doc__)
    parser.add_argument("--check", action="store_true", help=f"fail if a ratio is beyond {WORST}")
    options = parser.parse_args(arguments)
    rows = leave_out(measure())
    finish(rows, options.output)
    ratios = [float(row["ratio"]) for row in rows]
    off = [factor_of(ratio) for ratio in ratios]
    inside, apart = (
        sum(row[name] == "yes" for row in rows) for name in ("inside", "inside without the source")
    )
    right, pairs = ordered(rows)
    print(f"factor of the band: {band_factor(ratios):.2f} ({FACTOR} is shown to users)")
    print(f"inside the band of the others: {inside} of {len(rows)}, of other sources: {apart}")
    print(f"pairs in the published order: {right} of {pairs} that differ by {ORDERED} or more")
    print(f"median of the factors between both: {statistics.median(off):.2f}; worst {max(off):.2f}")
    return int(options.check and max(off) > WORST)
