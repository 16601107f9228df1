"""Measure the phases of a job on CPU and emulator, by the connection type of its device.

    python -m benchmarks.emulator connections
    python -m benchmarks.emulator connections --only emulator

Every job is `examples/emulator.yaml` in a local stack with a warm runner; the seconds are those
between the job's phase events. `cold` means that the cache holds no compiled program.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from benchmarks.common import command_line
from benchmarks.common.tables import ROOT, Row, finish
from ipulse.client import Connection, JobEvent
from ipulse.stack.stack import Stack
from ipulse_core.build_cache.directory import cache_directory

SPEC = ROOT / "examples" / "emulator.yaml"
# Device, connection type, whether the program is already compiled.
JOBS = [
    *(("cpu", connection, "kernels") for connection in ("ALWAYS", "ON_DEMAND", "PRE_COMPILE")),
    *(("emulator", connection, "cold") for connection in ("ALWAYS", "ON_DEMAND", "PRE_COMPILE")),
    ("emulator", "ON_DEMAND", "cached"),
    ("emulator", "NEVER", "not stored"),
]


def measure(only: str = "") -> list[Row]:
    """Return a row per job, with the seconds of each phase."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        cache = Path(directory) / "cache"
        link_built_libraries(cache)
        environment = {"IPULSE_CACHE": str(cache)}
        with (
            Stack(Path(directory) / "home", environment=environment) as stack,
            Connection(stack.url, token_file=stack.token_path) as client,
        ):
            run(client, "emulator", "ON_DEMAND")  # builds what is missing
            for device, connection, program in JOBS:
                if not device.startswith(only):
                    continue
                if program == "cold":
                    for executable in (cache / "executables").glob("*"):
                        executable.unlink()
                place: Row = {"device": device, "connection": connection, "program": program}
                rows.append(place | phase_seconds(run(client, device, connection)))
    return rows


def run(client: Connection, device: str, connection: str) -> list[JobEvent]:
    """Run one job; return its phase events and the last event."""
    spec: dict[str, Any] = yaml.safe_load(SPEC.read_text())
    settings = {"kind": "cpu"} if device == "cpu" else spec["device"]
    spec["device"] = {**settings, "connection_type": connection}
    job = client.submit(spec)
    events = list(client.job(job.id).watch())
    ended = client.job(job.id)
    if not ended.succeeded:
        raise SystemExit(f"{device}, {connection}: {ended.reason}: {ended.message}")
    return [event for event in events if event.kind == "phase"] + events[-1:]


def phase_seconds(events: list[JobEvent]) -> dict[str, float]:
    """Return the seconds of each phase; the last event ends the last phase."""
    return {
        f"{event.json['phase']}_s": (later.time - event.time).total_seconds()
        for event, later in pairwise(events)
    }


def link_built_libraries(cache: Path) -> None:
    """Make a cache with the libraries that are already built, and no compiled program."""
    cache.mkdir()
    for built in cache_directory().iterdir():
        if built.name not in ("executables", "devices"):
            (cache / built.name).symlink_to(built)


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator connections", __doc__)
    parser.add_argument("--only", choices=("cpu", "emulator"), default="")
    options = parser.parse_args(arguments)
    finish(measure(options.only), options.output)
