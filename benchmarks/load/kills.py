"""A worker that is killed under a running job: is the job run again, when, and is the old process
dead by then? A job's process that is killed alone: when is it seen? And a service that is killed:
when does it answer again?"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import psutil

from benchmarks.load.restartable_side import RestartableSide
from benchmarks.load.side import POLL_SECONDS, Side

JOB_SECONDS = 45
RESTART_SECONDS = 2.0  # until whoever supervises it starts it again
WATCHED_SECONDS = 30.0


def killed_worker(side: Side) -> dict[str, Any]:
    """SIGKILL to the worker, which is started again a little later. `rerun_seconds` from the kill
    to the first line of the second run, None if it does not come within what is watched."""
    side.start_worker()
    with side.http() as http:
        order = side.order("sleep", JOB_SECONDS)
        job = side.submit(http, order)
        first = side.await_mark(order, "first", WATCHED_SECONDS)
        assert first is not None, f"{side.name}: the job did not begin"
        old = psutil.Process(first.pid)
        killed = time.monotonic()
        side.kill_worker()
        time.sleep(RESTART_SECONDS)
        side.start_worker()
        again = side.await_mark(order, "first", WATCHED_SECONDS - RESTART_SECONDS, count=2)
        is_old_alive = old.is_running() and old.status() != psutil.STATUS_ZOMBIE
        state = side.state(http, job)
    for pid in {mark.pid for mark in side.marks_of(order)}:
        _kill(pid)
    return {
        "watched_seconds": WATCHED_SECONDS,
        "rerun_seconds": again and again.seconds - killed,
        "is_old_alive": is_old_alive,
        "state": state,
    }


def killed_job(side: Side) -> dict[str, Any]:
    """SIGKILL to a job's process alone, of a worker that runs. `seen_seconds` until its state is
    another one, or it runs again; None if nothing is seen within what is watched."""
    with side.http() as http:
        order = side.order("sleep", JOB_SECONDS)
        job = side.submit(http, order)
        first = side.await_mark(order, "first", WATCHED_SECONDS)
        assert first is not None, f"{side.name}: the job did not begin"
        before = side.state(http, job)
        killed = time.monotonic()
        _kill(first.pid)
        seen = None
        while seen is None and time.monotonic() < killed + WATCHED_SECONDS:
            time.sleep(POLL_SECONDS)
            again = [mark for mark in side.marks_of(order) if mark.word == "first"][1:]
            if again or side.state(http, job) != before:
                seen = time.monotonic() - killed
        state = side.state(http, job)
    for pid in {mark.pid for mark in side.marks_of(order)}:
        _kill(pid)
    return {"watched_seconds": WATCHED_SECONDS, "seen_seconds": seen, "state": state}


def killed_service(side: RestartableSide) -> dict[str, Any]:
    """Seconds from a SIGKILL to what answers, started again a little later, until it does so."""
    killed = time.monotonic()
    side.kill_service()
    time.sleep(RESTART_SECONDS)
    side.start_service()
    return {"seconds": time.monotonic() - killed}


def _kill(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).kill()
