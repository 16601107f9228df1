"""Measure how long a submission takes.

    python -m benchmarks.service submit --jobs 300

One connection, one submission after the other. Each job is durable (one commit with fsync),
authenticated, and has an idempotency key.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.clients import one_by_one, percentiles
from benchmarks.service.systems.ipulse import IpulseSystem


def measure(home: Path, jobs: int, warm_up: int) -> list[Row]:
    """Return a row for the answer and for an fsync of this disk."""
    with IpulseSystem(home) as system:
        answers = one_by_one(system, system.submission, jobs, warm_up=warm_up)
    if answers.errors:
        raise SystemExit(f"submissions failed: {answers.errors}")
    figures = {"answer": answers.milliseconds, "fsync of 4 KiB": fsyncs(home, jobs)}
    load = os.getloadavg()[0]
    return [
        {"until": name, "jobs": jobs, **percentiles(times), "load_average": load}
        for name, times in figures.items()
    ]


def fsyncs(home: Path, count: int) -> list[float]:
    """Return the milliseconds of appending 4 KiB with fsync, which every submission needs."""
    times = []
    with (home / "probe").open("wb", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return times


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service submit", __doc__)
    parser.add_argument("--jobs", type=int, default=300, help="(%(default)s)")
    parser.add_argument("--warm-up", type=int, default=20, help="jobs before them (%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory) / "home", options.jobs, options.warm_up)
    finish(rows, options.output)
