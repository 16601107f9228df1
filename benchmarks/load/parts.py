"""What is measured, on which sides unless others are named, and in which order."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import start_latency
from benchmarks.load import jobs, kills, reading, submitting, transfers
from benchmarks.load.ipulse_side import IpulseSide
from benchmarks.load.processors import all_of_them
from benchmarks.load.restartable_side import RestartableSide
from benchmarks.load.side import Side
from benchmarks.load.sides import NAMES, OURS, RUNNING

SHIMS = ("celery", "celery_durable", "huey", "procrastinate")
ROWS = ("celery", *OURS)  # whose many stored jobs can be made up
FILES = (*SHIMS, "mlflow", *OURS)  # that keep files
SEED = 20


@dataclass(frozen=True)
class Part:
    """`measure(side, empty directory, whether a few will do)` returns its figures."""

    measure: Callable[[Side, Path, bool], Any]
    sides: tuple[str, ...]
    possible: tuple[str, ...] = RUNNING
    is_whole: bool = False  # sides are started with their workers, where these can wait


def _cold(side: Side, _: Path, __: bool) -> Any:
    return jobs.cold(side)


def _submissions(side: Side, _: Path, is_quick: bool) -> Any:
    side.start_worker()
    side.await_quiet()
    return submitting.submissions(side, 20 if is_quick else 300)


def _one_by_one(side: Side, _: Path, is_quick: bool) -> Any:
    return jobs.one_by_one(side, 5 if is_quick else 100)


def _rate(side: Side, _: Path, is_quick: bool) -> Any:
    side.ended_job()
    side.start_worker()
    return submitting.rate_held(side)


def _backlog(side: Side, _: Path, is_quick: bool) -> Any:
    return submitting.backlog(side, 300 if is_quick else 10_000)


def _stored(side: Side, _: Path, is_quick: bool) -> Any:
    counts = [10, 100] if is_quick else [100, 10_000, 100_000]
    return reading.stored(side, side.ended_job(), counts, 50 if is_quick else 1_000)


def _streams(side: Side, _: Path, is_quick: bool) -> Any:
    assert isinstance(side, IpulseSide)
    return reading.streams(side, 20 if is_quick else 1_000, 3 if is_quick else 10)


def _downloads(side: Side, directory: Path, is_quick: bool) -> Any:
    side.await_quiet()
    return transfers.downloads(side, directory, 16 if is_quick else 256)


def _uploads(side: Side, directory: Path, is_quick: bool) -> Any:
    side.await_quiet()
    return transfers.uploads(side, directory, 16 if is_quick else 256)


def _lines(side: Side, _: Path, is_quick: bool) -> Any:
    return jobs.lines(side, 100 if is_quick else jobs.LINES)


def _memory(side: Side, _: Path, __: bool) -> Any:
    return jobs.memory(side)


def _kill(side: Side, _: Path, __: bool) -> Any:
    return kills.killed_worker(side)


def _kill_job(side: Side, _: Path, __: bool) -> Any:
    side.start_worker()
    return kills.killed_job(side)


def _answers_again(side: Side, _: Path, __: bool) -> Any:
    assert isinstance(side, RestartableSide)
    return kills.killed_service(side)


def _first_step(_: Side, __: Path, is_quick: bool) -> Any:
    """Of a stack of its own, with the real runner: the side only gives its name."""
    with all_of_them():
        return start_latency.measure(2 if is_quick else 15, is_warm=True)


def _faults(_: Side, __: Path, is_quick: bool) -> Any:
    """Of a stack of its own, too."""
    kills_wanted = 2 if is_quick else 25
    options = ["--faults", "--only", "kills", "--kills", str(kills_wanted), "--seed", str(SEED)]
    with all_of_them():
        ran = subprocess.run(
            [sys.executable, "-m", "ipulse", "selftest", *options, "--json"],
            stdout=subprocess.PIPE,
        )
    return json.loads(ran.stdout)


PARTS: dict[str, Part] = {
    "cold": Part(_cold, NAMES, NAMES, is_whole=True),
    "submissions": Part(_submissions, NAMES, NAMES),
    "one_by_one": Part(_one_by_one, RUNNING),
    "first_step": Part(_first_step, ("sqlite",), ("sqlite",)),
    "rate": Part(_rate, ("celery", "celery_durable", "huey", *OURS)),
    "backlog": Part(_backlog, ("celery", "sqlite")),
    "stored": Part(_stored, ROWS, ROWS),
    "streams": Part(_streams, ("sqlite",), OURS),
    "memory": Part(_memory, ("celery", "ray", "prefect", "mlflow", "sqlite"), NAMES),
    "lines": Part(_lines, ("celery", "ray", "sqlite")),
    "downloads": Part(_downloads, ("celery", "mlflow", "sqlite"), FILES),
    "uploads": Part(_uploads, ("celery", "mlflow", "sqlite"), FILES),
    "kill": Part(_kill, ("celery", "celery_durable", "huey", "sqlite")),
    "kill_job": Part(_kill_job, ("celery", "huey", "ray", "sqlite")),
    "answers_again": Part(_answers_again, ("celery", "sqlite"), (*SHIMS, *OURS)),
    "faults": Part(_faults, ("sqlite",), ("sqlite",)),
}
