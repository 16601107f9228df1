"""The runner's mouth: events as JSON lines on the pipe that the agent reads."""

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
    """Writes events on an inherited file descriptor, one line each."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, event: Event) -> None:
        """Raises BrokenPipeError if the agent is gone."""
        line = (strict_json.dumps(event.to_json()) + "\n").encode("utf-8")
        while line:
            line = line[os.write(self._descriptor, line) :]

    def log(self, message: str, level: Level = "info") -> None:
        self.write(LogEvent(message=message, level=level))

    def end_with_reader(self) -> None:
        """From now on the process ends as soon as nobody holds the pipe's other end.

        A runner without its agent would train for nobody, beside the next attempt of its job.
        """
        threading.Thread(target=self._watch, name="reader-watch", daemon=True).start()

    def _watch(self) -> None:
        watch = select.poll()
        watch.register(self._descriptor, 0)  # only hang-up and error, which are always reported
        watch.poll()
        os._exit(1)


class Throttle:
    """Says yes at most once per `seconds`, and always the first time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: Optional[float] = None

    def allows(self) -> bool:
        now = time.monotonic()
        if self._last is not None and now - self._last < self._seconds:
            return False
        self._last = now
        return True
