"""The parts of the load benchmark: each measures one running system."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.common.tables import Row
from benchmarks.service.clients import at_rate, in_parallel, one_by_one, percentiles
from benchmarks.service.event_streams import streams
from benchmarks.service.payload import NOTHING, timestamps
from benchmarks.service.systems.system import System

SUBMISSION_SECONDS = 10.0
JOBS_SECONDS = 20.0
FIRST_RATE, GROWTH = 60.0, 1.5  # of the ladder of rates: submissions per second
STEP_SECONDS, HELD_SECONDS = 4.0, 10.0
MAX_P99_MS = 500.0  # a service that answers later does not sustain the rate
CONNECTIONS = 16
TRANSFERS = 3
SEED = 20


@dataclass(frozen=True)
class Part:
    """`measure(system, empty directory, quick)` returns the figures of a system."""

    measure: Callable[[System, Path, bool], Row]
    systems: tuple[str, ...]


def cold_start(system: System, _: Path, __: bool) -> Row:
    """Measure from nothing to the first answer, and to the end of the first job."""
    began = time.monotonic()
    system.start_worker()
    with system.http() as http:
        _succeeded(system, system.await_end(http, system.submit(http, system.timed_order())))
    first_job = system.start_seconds + time.monotonic() - began
    return {"answers_s": system.start_seconds, "first_job_s": first_job}


def submissions(system: System, _: Path, quick: bool) -> Row:
    """Measure submissions one after the other while a worker runs them, then a job's status."""
    system.start_worker()
    system.await_idle()
    count = 20 if quick else 300
    submitted = one_by_one(system, system.submission, count, SUBMISSION_SECONDS)
    with system.http() as http:
        job = system.submit(http, NOTHING)
    status = one_by_one(system, lambda: system.status(job), count, SUBMISSION_SECONDS)
    return {"requests": len(submitted.milliseconds), **submitted.figures()} | status.figures(
        "status_"
    )


def jobs(system: System, _: Path, quick: bool) -> Row:
    """Measure jobs one after the other: from submission to begin, and from end to its notice."""
    begun: list[float] = []
    noticed: list[float] = []
    system.start_worker()
    with system.http() as http:
        system.await_end(http, system.submit(http, NOTHING))
        limit = time.monotonic() + JOBS_SECONDS
        while len(begun) < (3 if quick else 50) and time.monotonic() < limit:
            order = system.timed_order()
            submitted = time.monotonic()
            _succeeded(system, system.see_end(http, system.submit(http, order)))
            seen = time.monotonic()
            begin, end = timestamps(order)
            begun.append((begin.seconds - submitted) * 1000)
            noticed.append((seen - end.seconds) * 1000)
    return {"jobs": len(begun), **percentiles(begun, "begin_"), **percentiles(noticed, "end_")}


def rate(system: System, _: Path, quick: bool) -> Row:
    """Measure the highest rate of a ladder without errors and with p99 below the limit."""
    system.start_worker()
    system.await_idle()

    def sustains(per_second: float, seconds: float) -> Row | None:
        answers = at_rate(system, system.submission, per_second, seconds)
        figures = answers.figures()
        if answers.errors or figures["p99_ms"] > MAX_P99_MS:
            return None
        return {"per_second": per_second, **figures}

    if quick:
        return sustains(20.0, 1.0) or {"per_second": 0.0}
    tried = FIRST_RATE
    while sustains(tried, STEP_SECONDS):
        tried *= GROWTH
    while tried > 1:
        tried /= GROWTH
        if held := sustains(tried, HELD_SECONDS):
            return held
    return {"per_second": 0.0}


def backlog(system: System, _: Path, quick: bool) -> Row:
    """Measure submissions while jobs pile up, then status and list with all of them queued."""
    count = 100 if quick else 10_000
    tenth = count // 10
    with system.http() as http:
        job = system.submit(http, NOTHING)  # loads what the first submission needs
    system.await_idle()
    before = system.memory()
    first, _rest, last = (
        in_parallel(system, system.submission, number, CONNECTIONS)
        for number in (tenth, count - 2 * tenth, tenth)
    )
    memory = system.memory() - before
    requests = 20 if quick else 300
    status = one_by_one(system, lambda: system.status(job), requests)
    newest = one_by_one(system, system.newest, requests)
    return {
        "queued": count,
        "first_per_second": tenth / first.seconds,
        "last_per_second": tenth / last.seconds,
        "kib_per_job": memory / count / 1024,
        **status.figures("status_"),
        **newest.figures("list_"),
    }


def memory(system: System, _: Path, __: bool) -> Row:
    """Measure the idle memory of all processes; shared pages count once."""
    system.start_worker()
    system.await_idle()
    return {"idle_mib": system.memory(whole=True) / 2**20}


def uploads(system: System, directory: Path, quick: bool) -> Row:
    """Measure uploads of new files: median MiB per second, and the service's growth."""
    system.await_idle()
    size, before, speeds = (4 if quick else 256), system.memory(), []
    for number in range(TRANSFERS):
        path = _file(directory, size, number)
        with system.uploading(path) as upload:
            began = time.perf_counter()
            upload()
            speeds.append(size / (time.perf_counter() - began))
    return _transfer(size, speeds, system.memory() - before)


def downloads(system: System, directory: Path, quick: bool) -> Row:
    """Measure downloads of one file: median MiB per second, and the service's growth."""
    system.await_idle()
    size = 4 if quick else 256
    call = system.store_file(_file(directory, size, 0))
    before, speeds = system.memory(), []
    with httpx.Client(base_url=system.url, headers=system.headers(), timeout=120.0) as http:
        for _ in range(TRANSFERS):
            began, received = time.perf_counter(), 0
            with http.stream(call.method, call.path) as response:
                for piece in response.raise_for_status().iter_raw(2**20):
                    received += len(piece)
            assert received == size * 2**20
            speeds.append(size / (time.perf_counter() - began))
    return _transfer(size, speeds, system.memory() - before)


def _file(directory: Path, mebibytes: int, number: int) -> Path:
    """Write a file with content of its own, synced so that later syncs do not wait for it."""
    path = directory / "file"
    chunk = random.Random(SEED + number).randbytes(2**20)
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return path


def _transfer(mebibytes: int, speeds: list[float], grown: int) -> Row:
    median = sorted(speeds)[len(speeds) // 2]
    return {"file_mib": mebibytes, "mib_per_second": median, "grown_mib": grown / 2**20}


def _succeeded(system: System, state: str) -> None:
    if state != "succeeded":
        raise SystemExit(f"{system.name}: a job ended as {state}; see {system.home}")


OURS = ("sqlite", "postgresql")
PARTS: dict[str, Part] = {
    "cold_start": Part(cold_start, (*OURS, "celery", "celery_durable")),
    "submissions": Part(submissions, (*OURS, "celery", "celery_durable")),
    "jobs": Part(jobs, (*OURS, "celery", "celery_durable")),
    "rate": Part(rate, (*OURS, "celery", "celery_durable")),
    "backlog": Part(backlog, (*OURS, "celery")),
    "streams": Part(streams, OURS),
    "memory": Part(memory, ("sqlite", "celery")),
    "uploads": Part(uploads, ("sqlite", "celery")),
    "downloads": Part(downloads, ("sqlite", "celery")),
}
