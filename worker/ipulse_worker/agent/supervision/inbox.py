"""The inbox of the thread that runs an attempt: all other threads put messages into it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.supervision.runner_exit import StopCause
from ipulse_worker.agent.supervision.runner_messages import RunnerMessage


@dataclass(frozen=True)
class LeaseLost:
    """The service gave the job to another attempt, or could not be reached for too long."""

    why: IPUlseError


@dataclass(frozen=True)
class FinishOrder:
    """The user asked to end the training now and to keep its results."""


@dataclass(frozen=True)
class Delivered:
    """The event reporter or the uploader has finished."""


class StopOrdered(Exception):
    """The attempt is to stop before its runner has started."""

    def __init__(self, cause: StopCause) -> None:
        super().__init__(cause.name)
        self.cause = cause


InboxMessage = RunnerMessage | StopCause | LeaseLost | Delivered | FinishOrder


class Inbox:
    """A queue with a deadline. Any thread and any signal handler may call `put`."""

    def __init__(self) -> None:
        # Unlike Queue, a SimpleQueue accepts a `put` from a handler that interrupted its `get`.
        self._messages: SimpleQueue[InboxMessage] = SimpleQueue()
        self._deadline: float | None = None  # on the monotonic clock
        self._stop: StopCause | None = None  # the one that takes precedence so far

    def put(self, message: InboxMessage) -> None:
        """Append a message."""
        if isinstance(message, StopCause):
            self._stop = max(message, self._stop or message)
        self._messages.put(message)

    def check_stop(self) -> None:
        """Raise StopOrdered if a message said so; messages stay for `next`."""
        if self._stop is not None:
            raise StopOrdered(self._stop)

    def set_deadline(self, seconds: float | None) -> None:
        """Make `next` return None after so many seconds in all; None removes the deadline."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def next(self) -> InboxMessage | None:
        """Wait for a message and return it; return None once the deadline has passed."""
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            return self._messages.get(timeout=left)
        except Empty:
            return None
