"""Measure how the time to build, check and compile a graph grows with its number of parts.

    python -m benchmarks.emulator scaling
    python -m benchmarks.emulator scaling --check    exit code 1 unless all grow like n log n

The graphs are those of scaling.cpp: pieces of tensors, vertices, rows of a vertex, compute sets
and variables. `growth` is the time of the largest graph for each n log n, relative to that of a
graph of 20,000 parts; it is near 1 for n log n, and the ratio of the sizes for n squared.
"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish

PROGRAM = Path(__file__).with_name("scaling.cpp")
SMALLEST = 20_000  # smaller graphs take the time of what every graph has
WORST = 3.0


def measure() -> list[Row]:
    """Return a row per kind of part. Raises CalledProcessError."""
    command = [sys.executable, "-m", "ipulse", "emulate", str(PROGRAM), "--no-profile"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds: dict[str, dict[int, float]] = {}
    for line in done.stdout.splitlines():
        kind, rest = line.split(": ")
        parts, time = rest.split()
        seconds.setdefault(kind, {})[int(parts)] = float(time)
    return [_row(kind, times) for kind, times in seconds.items()]


def _row(kind: str, times: dict[int, float]) -> Row:
    largest = max(times)
    each = {parts: time / (parts * math.log(parts)) for parts, time in times.items()}
    return {
        "parts": kind,
        "number": largest,
        f"{SMALLEST:,} (s)": times[SMALLEST],
        "largest (s)": times[largest],
        "growth": each[largest] / each[SMALLEST],
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = command_line.parser("emulator scaling", __doc__)
    parser.add_argument("--check", action="store_true", help=f"fail if a growth is beyond {WORST}")
    options = parser.parse_args(arguments)
    rows = measure()
    finish(rows, options.output)
    worst = max(float(row["growth"]) for row in rows)
    print(f"largest growth beyond n log n: {worst:.2f}")
    return int(options.check and worst > WORST)
