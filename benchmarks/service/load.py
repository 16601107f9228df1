"""Measure the service under load, and other job services in the same run.

    python -m benchmarks.service load                                  15 minutes
    python -m benchmarks.service load --part backlog --system sqlite
    python -m benchmarks.service load --quick                          small numbers

Each part starts each system with empty data, real processes, a real Redis and a real disk, one
after the other. The clients are pinned to one CPU. The CSV has a row per part, system and figure.
The last table has the goal of each figure.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

from benchmarks.common import command_line, machine
from benchmarks.common.tables import Row, command, finish, write_table
from benchmarks.service import load_goals
from benchmarks.service.parts import PARTS
from benchmarks.service.programs import all_cpus, pin_clients
from benchmarks.service.systems.catalogue import SYSTEMS, running
from ipulse.cli.signals import terminable
from ipulse_core.errors import MissingDependency


def measure(part: str, names: list[str], quick: bool, waiting: float) -> list[Row]:
    """Return a row per system; `missing` says why one could not run.

    waiting: seconds to wait for a quiet machine before each system.
    """
    rows: list[Row] = []
    for name in names:
        with all_cpus():
            machine.await_quiet(waiting)
            before = machine.preempted_cpus()
        with tempfile.TemporaryDirectory() as directory:
            try:
                with running(name, Path(directory) / "home") as system:
                    figures = PARTS[part].measure(system, Path(directory), quick)
            except MissingDependency as error:
                rows.append({"system": name, "missing": str(error)})
                continue
        with all_cpus():
            preempted = (before + machine.preempted_cpus()) / 2
        rows.append({"system": system.name, **figures, "preempted": preempted})
    return rows


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service load", __doc__)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--quick", action="store_true", help="small numbers: whether it works")
    parser.add_argument(
        "--waiting", type=float, default=10.0, help="seconds to wait for a quiet machine, each"
    )
    options = parser.parse_args(arguments)
    pin_clients()
    gc.freeze()  # a collection of the clients' modules would delay one answer by 60 ms
    figures: list[Row] = []
    with terminable():  # services have sessions of their own and must be ended
        for name in options.part or PARTS:
            print(f"## {name}: {PARTS[name].measure.__doc__}\n", flush=True)
            systems = [one for one in options.system or SYSTEMS if one in PARTS[name].systems]
            rows = measure(name, systems, options.quick, 0.0 if options.quick else options.waiting)
            finish(rows, None)
            print(flush=True)
            figures += flattened(name, rows)
    if goals := load_goals.compared(figures):
        print("## goals: each figure with its goal\n")
        finish(goals, None)
    if options.output:
        with all_cpus():
            write_table(options.output, figures, command())


def flattened(part: str, rows: list[Row]) -> list[Row]:
    """Return a row per system and figure."""
    return [
        {"part": part, "system": row["system"], "figure": figure, "value": value}
        for row in rows
        for figure, value in row.items()
        if figure != "system"
    ]
