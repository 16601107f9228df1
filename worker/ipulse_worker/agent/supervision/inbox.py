"""Where everybody leaves messages for the one thread that runs an attempt."""

from __future__ import annotations

import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.supervision.attempt_outcome import StopCause
from ipulse_worker.agent.supervision.runner_messages import Message


@dataclass(frozen=True)
class LeaseLost:
    """The service gave the job away, or could not be reached for too long."""

    why: IPUlseError


@dataclass(frozen=True)
class Delivered:
    """The reporter or the uploader has nothing more to do."""


Letter = Message | StopCause | LeaseLost | Delivered


class Inbox:
    """A queue with a deadline. `put` may be called by anyone, also by a signal handler."""

    def __init__(self) -> None:
        # Unlike Queue, a SimpleQueue may be put into by a handler that interrupted its `get`.
        self._letters: SimpleQueue[Letter] = SimpleQueue()
        self._deadline: float | None = None  # on the monotonic clock

    def put(self, letter: Letter) -> None:
        self._letters.put(letter)

    def expect_within(self, seconds: float | None) -> None:
        """From now on `next` gives up after so many seconds in all."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def next(self) -> Letter | None:
        """Waits for a letter; None once the deadline has passed."""
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            return self._letters.get(timeout=left)
        except Empty:
            return None
