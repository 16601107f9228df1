"""Jobs that run as processes: how soon one begins, how soon its end and its log are seen, and
what a service and each of its jobs take in memory."""

from __future__ import annotations

import contextlib
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from benchmarks.load.clients import percentiles
from benchmarks.load.payload import Order
from benchmarks.load.processors import all_of_them
from benchmarks.load.side import POLL_SECONDS, START_SECONDS, Side

ENOUGH_SECONDS = 20.0  # for jobs one after the other
FEWEST = 4  # however long they take
QUIET_SECONDS = 3.0
MEMORY_JOB_SECONDS = 8
LINES = 10_000
PRINTING_JOBS = 5  # by one alone a median may be missed by half of it
LOG_SECONDS = 120.0


def cold(side: Side) -> dict[str, Any]:
    """Seconds from nothing to an answer, and to the end of the first job, of a fresh side."""
    if not side.runs_jobs:
        return {"answers_seconds": side.start_seconds}
    began = time.monotonic()
    if not side.is_whole:
        side.start_worker()
    with side.http() as http:
        state = side.await_end(http, side.submit(http, side.order("noop")))
    assert state == "succeeded", state
    first = side.start_seconds + time.monotonic() - began
    return {"answers_seconds": side.start_seconds, "first_job_seconds": first}


def one_by_one(side: Side, count: int) -> dict[str, Any]:
    """Milliseconds from a submission to the job's first line, and from its last until the end is
    seen: of every other job by asking every 20 ms, of the rest in the best way that the service
    documents. `count` jobs, or fewer where they take long."""
    begun: list[float] = []
    seen: dict[bool, list[float]] = {False: [], True: []}  # by whether it is asked every 20 ms
    side.start_worker()
    with side.http() as http:
        side.await_end(http, side.submit(http, Order()))
        enough = time.monotonic() + ENOUGH_SECONDS
        while len(begun) < count and (time.monotonic() < enough or len(begun) < FEWEST):
            order = side.order("noop")
            is_polled = len(begun) % 2 == 1
            submitted = time.monotonic()
            job = side.submit(http, order)
            state = side.await_end(http, job) if is_polled else side.see_end(http, job)
            assert state == "succeeded", state
            ended = time.monotonic()
            first, last = side.marks_of(order)
            begun.append((first.seconds - submitted) * 1000)
            seen[is_polled].append((ended - last.seconds) * 1000)
    return {
        "jobs": len(begun),
        "poll_ms": POLL_SECONDS * 1000,
        "first_line": percentiles(begun),
        "end_seen": percentiles(seen[False]),
        "end_polled": percentiles(seen[True]),
    }


def lines(side: Side, count: int = LINES) -> dict[str, Any]:
    """Of a job that prints so many lines as fast as it can: how long after its end its log is
    whole, how many lines are missing then, and how long reading it takes; the median of a few."""
    side.start_worker()
    with side.http() as http:
        logs = [_printed(side, http, count) for _ in range(PRINTING_JOBS)]
    return {
        "lines": count,
        "lost": max(log.lost for log in logs),
        "whole_after_seconds": statistics.median(log.whole_after_seconds for log in logs),
        "read_seconds": statistics.median(log.read_seconds for log in logs),
    }


def memory(side: Side) -> dict[str, Any]:
    """MiB of all its processes, idle and for each running job; a page shared counts once."""
    if not side.runs_jobs:
        side.await_quiet()
        return {"idle_mib": side.whole_memory() / 2**20}
    side.start_worker()
    with side.http() as http:
        first = side.order("noop")
        side.await_end(http, side.submit(http, first))
        _await_exit(side, first)
        time.sleep(QUIET_SECONDS)
        idle = side.whole_memory()
        orders = [side.order("sleep", MEMORY_JOB_SECONDS) for _ in range(side.parallel)]
        jobs = [side.submit(http, order) for order in orders]
        for order in orders:
            assert side.await_mark(order, "first", START_SECONDS), side.name
        running = side.whole_memory()
        assert all(len(side.marks_of(order)) == 1 for order in orders), "a job has ended too soon"
        for job in jobs:
            side.await_end(http, job)
    bare = _bare_interpreter()
    return {
        "idle_mib": idle / 2**20,
        "running_mib": ((running - idle) / side.parallel - bare) / 2**20,
        "bare_process_mib": bare / 2**20,
    }


@dataclass(frozen=True)
class _Log:
    lost: int  # lines
    whole_after_seconds: float
    read_seconds: float


def _printed(side: Side, http: httpx.Client, count: int) -> _Log:
    """The log of one more job, once it is whole or nothing more is to be expected."""
    order = side.order("lines", count)
    job = side.submit(http, order)
    last = side.await_mark(order, "last", LOG_SECONDS)
    assert last is not None, f"{side.name}: the job did not end"
    deadline = last.seconds + LOG_SECONDS
    while True:
        began = time.monotonic()
        text = side.log(http, job)
        read = time.monotonic()
        found = len(set(re.findall(r"line (\d{6}):", text)))
        if found == count or read > deadline:
            break
    side.await_end(http, job)
    return _Log(count - found, read - last.seconds, read - began)


def _await_exit(side: Side, order: Order) -> None:
    """Waits until a job's process is gone, which may outlive the job's end."""
    for pid in {mark.pid for mark in side.marks_of(order)}:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(START_SECONDS)


def _bare_interpreter() -> int:
    """Bytes of the process that every job is at least."""
    with (
        all_of_them(),
        subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        bare: int = psutil.Process(process.pid).memory_full_info().pss
        process.communicate(b"\n")
    return bare
