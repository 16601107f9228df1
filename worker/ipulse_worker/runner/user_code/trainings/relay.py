"""Passes on the events of a confined training: only those that it may cause."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Set

from ipulse_core.events import (
    MAX_LINE,
    ArtifactEvent,
    CheckpointEvent,
    DoneEvent,
    Event,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    ProgressEvent,
)
from ipulse_core.states import INFRASTRUCTURE, Reason
from ipulse_worker.runner.user_code.budget import (
    EVENTS_AT_ONCE,
    EVENTS_PER_SECOND,
    MAX_PROGRESS,
    MAX_TEXT,
)
from ipulse_worker.runner.user_code.failure import printable
from ipulse_worker.runner.user_code.protocol import BadMessage, Message
from ipulse_worker.runner.user_code.trainings.messages import ReceivedFile

_KINDS = {
    "artifact": ArtifactEvent,
    "checkpoint": CheckpointEvent,
    "done": DoneEvent,
    "log": LogEvent,
    "metric": MetricEvent,
    "phase": PhaseEvent,
    "progress": ProgressEvent,
}
_STREAMS = ("stdout", "stderr")  # lines of agent and service are their own
# A retry on the same worker has a limit. All others would take the worker or a device from others.
_HARMLESS = frozenset({Reason.IPU_RESET})


class EventFilter:
    """Makes events of messages; the agent checks their fields, as those of every runner."""

    def __init__(self) -> None:
        self._files: Set[str] = set()

    def add(self, file: ReceivedFile) -> None:
        """Let events name a file, which has arrived."""
        self._files.add(file.name)

    def event_of(self, message: Message) -> Event:
        """Return the event to pass on. Raises BadMessage."""
        made = _KINDS.get(message.kind)
        if made is None or message.size:
            raise BadMessage("a message is of no known kind")
        try:
            event: Any = made(**message.fields)
        except TypeError:
            raise BadMessage("a message has other fields than an event") from None
        if isinstance(event, (ArtifactEvent, CheckpointEvent)) and event.path not in self._files:
            raise BadMessage("it names a file that was not sent")
        if isinstance(event, DoneEvent):
            return _outcome(event)
        if isinstance(event, LogEvent):
            stream = event.stream if event.stream in _STREAMS else "runner"
            return LogEvent(printable(event.message, MAX_LINE), event.level, stream)
        if isinstance(event, ProgressEvent):
            return replace(event, message=printable(event.message, MAX_PROGRESS))
        found: Event = event
        return found


class Pace:
    """Slows a training down that reports more than any runner does: every event is stored."""

    def __init__(self, per_second: float = EVENTS_PER_SECOND, burst: int = EVENTS_AT_ONCE) -> None:
        self._seconds = 1.0 / per_second
        self._most = burst * self._seconds
        self._due = time.monotonic() - self._most  # as if none had come for long

    def wait(self) -> None:
        """Wait until the next event may pass."""
        now = time.monotonic()
        self._due = max(self._due, now - self._most) + self._seconds
        if self._due > now:
            time.sleep(self._due - now)


def _outcome(event: DoneEvent) -> DoneEvent:
    """Return the outcome; one that blames this worker or its devices is the program's failure."""
    known = {reason.value: reason for reason in Reason}
    reason = known.get(str(event.reason))
    message = printable(event.message)
    if reason is None or (reason in INFRASTRUCTURE and reason not in _HARMLESS):
        message = f"The training with custom ops ended with {str(event.reason)[:64]!a}: {message}"
        reason = Reason.PROGRAM_FAILED
    return DoneEvent(reason.value, message[:MAX_TEXT], event.summary)
