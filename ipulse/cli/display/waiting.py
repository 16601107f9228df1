"""Why a queued job waits: in words, and while it is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from ipulse.client import JobHandle
from ipulse.times import shown_text, time_of
from ipulse_core.errors import IPUlseError
from ipulse_core.ids import short_id
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_core.states import JobState

FIRST_SECONDS = 1.0  # most jobs do not wait at all
EVERY_SECONDS = 5.0
_AWAITED = ("dependency", "compile")  # reasons with a job that must end or compile first
STATES = frozenset({JobState.QUEUED.value, JobState.RETRY_WAIT.value, JobState.BLOCKED.value})


def waiting_text(waiting: Mapping[str, Any] | None, with_start: bool = True) -> str:
    """Return why a job waits, its place in the queue and when it is expected to start."""
    if waiting is None:
        return ""
    parts = [str(waiting["reason"]).replace("_", " ")]
    job, detail = awaited_job(waiting), str(waiting.get("detail") or "")
    if job and waiting["holder"] in detail:  # the sentence names it
        parts[0] += f": {detail.replace(waiting['holder'], job)}"
    else:
        parts[0] += f": {job}" if job else ""
        parts += [detail] if detail else []
    if waiting["position"] is not None:
        of = f" of {waiting['of']}" if waiting.get("of") else ""
        parts.append(f"number {waiting['position']}{of} in the queue")
    if waiting["holder"] is not None and waiting["reason"] not in _AWAITED:
        device = waiting.get("holder_device")
        parts.append(f"behind {waiting['holder']}" + (f" on {device}" if device else ""))
    if waiting["estimated_start"] is not None and with_start:
        parts.append(f"expected to start at {time_text(time_of(waiting['estimated_start']))}")
    return ", ".join(parts)


def awaited_job(waiting: Mapping[str, Any] | None) -> str:
    """Return the short id and the name of the first job that must end or compile before."""
    if waiting is None or waiting["reason"] not in _AWAITED or waiting["holder"] is None:
        return ""
    return f"{short_id(waiting['holder'])} {waiting.get('holder_name') or ''}".rstrip()


def time_text(time: datetime) -> str:
    """Format a time in this machine's zone, with the offset."""
    return shown_text(time, seconds=True)


@contextmanager
def watched_queue(
    job: JobHandle,
    state: Callable[[], str],
    on_wait: Callable[[Mapping[str, Any] | None], None],
) -> Iterator[None]:
    """Call `on_wait` every few seconds with what the job waits for, while it is queued."""

    def poll() -> float:
        if state() in STATES:
            with suppress(IPUlseError):  # the stream of events reports a lost connection
                waiting = job.refresh().json.get("waiting_on")
                if state() in STATES:
                    on_wait(waiting)
        return EVERY_SECONDS

    thread = RepeatingThread(
        "queue_watch", poll, first_pause=FIRST_SECONDS, retry_seconds=None, is_daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        thread.end()  # a request that is under way may still take a while
