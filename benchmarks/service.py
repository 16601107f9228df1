"""What the service bears, beside a bare Celery service in the same run.

    python -m benchmarks.service                       every part on SQLite and PostgreSQL: at most
                                                       20 minutes, 15 to the begin of the last part
    python -m benchmarks.service --part rate --side sqlite --side celery
    python -m benchmarks.service --quick               small numbers: whether it works
    python -m benchmarks.service --report              only writes docs/load.md from the results

Each part starts each side afresh, in an empty directory, with real processes, a real Redis and a
real disk. Jobs do nothing: IPUlse's run as one process each, the other's as a function in a worker.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.load import reading, submitting
from benchmarks.load.ipulse_side import IpulseSide
from benchmarks.load.page import write
from benchmarks.load.shim_side import ShimSide
from benchmarks.load.side import Side
from benchmarks.results import DIRECTORY, rounded
from tests.service.postgresql_server import PostgreSQLServer, programs

SIDES = ("celery", "sqlite", "postgresql")
RESULTS = DIRECTORY / "service.json"
Measure = Callable[[Side, Path, bool], Any]


def _submissions(side: Side, _: Path, is_quick: bool) -> Any:
    side.start_worker()
    return submitting.submissions(side, 50 if is_quick else 300)


def _rate(side: Side, _: Path, is_quick: bool) -> Any:
    side.ended_job()
    side.start_worker()
    return submitting.rate_held(side)


def _backlog(side: Side, _: Path, is_quick: bool) -> Any:
    return submitting.backlog(side, 300 if is_quick else 10_000)


def _stored(side: Side, _: Path, is_quick: bool) -> Any:
    counts = [10, 100] if is_quick else [100, 1_000, 10_000, 100_000]
    return reading.stored(side, side.ended_job(), counts, 50 if is_quick else 500)


def _streams(side: Side, _: Path, is_quick: bool) -> Any:
    if not isinstance(side, IpulseSide):
        return None  # the bare service has no event streams
    return reading.streams(side, 20 if is_quick else 1_000)


def _downloads(side: Side, directory: Path, is_quick: bool) -> Any:
    return reading.downloads(side, directory, 16 if is_quick else 256)


PARTS: dict[str, Measure] = {
    "submissions": _submissions,
    "rate": _rate,
    "backlog": _backlog,
    "stored": _stored,
    "streams": _streams,
    "downloads": _downloads,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=tuple(PARTS))
    parser.add_argument("--side", action="append", choices=SIDES)
    parser.add_argument("--quick", action="store_true", help="and keep no results")
    parser.add_argument("--report", action="store_true", help="only write docs/load.md")
    parser.add_argument(
        "--minutes", type=float, default=15.0, help="begin no part after so long (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    if options.report:
        write(json.loads(RESULTS.read_text()))
        return 0
    found: dict[str, Any] = {"machine": machine.description(), "parts": {}}
    if RESULTS.exists() and not options.quick:
        found["parts"] = json.loads(RESULTS.read_text())["parts"]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the clients; what they start is free
    began = time.monotonic()
    for part in options.part or PARTS:
        if time.monotonic() - began > options.minutes * 60:
            print(f"{part:12} not measured: {options.minutes:g} minutes are over", flush=True)
            continue
        found["parts"][part] = measure(part, options.side or SIDES, options.quick)
        if not options.quick:
            RESULTS.write_text(json.dumps(rounded(found), indent=1) + "\n")
    if options.json:
        print(json.dumps(rounded(found)))
    elif not options.quick:
        write(rounded(found))
    return 0


def measure(part: str, sides: tuple[str, ...], is_quick: bool) -> dict[str, Any]:
    """One part on each side: {its name: {"promise", "figures", "seconds"}}."""
    rows: dict[str, Any] = {}
    for kind in sides:
        with tempfile.TemporaryDirectory() as directory, opened(kind, Path(directory)) as side:
            began = time.monotonic()
            figures = PARTS[part](side, Path(directory), is_quick)
            if figures is not None:
                took = time.monotonic() - began
                rows[side.name] = {"promise": side.promise, "figures": figures, "seconds": took}
                print(f"{part:12} {side.name:20} {json.dumps(rounded(figures))[:400]}", flush=True)
    return rows


@contextlib.contextmanager
def opened(kind: str, directory: Path) -> Iterator[Side]:
    """A side that runs, with nothing in it."""
    home = directory / "home"
    if kind == "postgresql":
        folder = programs()
        if folder is None:
            raise SystemExit("PostgreSQL is not installed: apt install postgresql, or name --side")
        server = PostgreSQLServer(folder, is_durable=True)
        with server, IpulseSide(home, server.new_database()) as side:
            yield side
        return
    make = {"celery": ShimSide, "sqlite": IpulseSide}[kind]
    with make(home) as side:
        yield side


if __name__ == "__main__":
    raise SystemExit(main())
