"""Writes the runner's events as JSON lines to the pipe that the agent reads."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import Optional

from ipulse_core import strict_json
from ipulse_core.events import Event, Level, LogEvent

METRIC_SECONDS = 0.2  # at most five metric events a second within an epoch


class EventWriter:
    """Writes events to an inherited file descriptor, one line each."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, event: Event) -> None:
        """Write an event from any thread; raise BrokenPipeError if the agent has ended."""
        line = (strict_json.dumps(event.to_json()) + "\n").encode("utf-8")
        with self._lock:
            while line:
                line = line[os.write(self._descriptor, line) :]

    def log(self, message: str, level: Level = "info") -> None:
        """Write a log event."""
        self.write(LogEvent(message=message, level=level))

    def end_with_reader(self) -> None:
        """End the process as soon as the other end of the pipe is closed.

        Without its agent, a runner would continue in parallel with the next attempt of its job.
        """
        threading.Thread(target=self._watch, name="reader-watch", daemon=True).start()

    def _watch(self) -> None:
        watch = select.poll()
        watch.register(self._descriptor, 0)  # hang-up and error are always reported
        watch.poll()
        os._exit(1)  # sys.exit would only end this thread


class Throttle:
    """Limits a repeated action to once per `seconds`; the first time is always allowed."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: Optional[float] = None

    def allows(self) -> bool:
        """Return whether the action is due, and count it as done if so."""
        now = time.monotonic()
        if self._last is not None and now - self._last < self._seconds:
            return False
        self._last = now
        return True
