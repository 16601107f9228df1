"""Messages from a runner process: its events, a protocol violation, and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ipulse.events import parse_event
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput
from ipulse_core.events import Event, LogEvent, ProgressEvent, ReadyEvent

MAX_EVENT_BYTES = 2**20  # of one line; the longest valid event is far shorter


@dataclass(frozen=True)
class Violation:
    """The runner wrote a line that is not an event; everything after it is ignored."""

    detail: str


@dataclass(frozen=True)
class Ended:
    """The runner and all its descendants have ended; this is the last message."""

    exit_code: int  # negative: the signal that ended it
    oom_kills: int = 0  # processes that the kernel killed for lack of memory during the attempt


RunnerMessage = Event | Violation | Ended
Listener = Callable[[RunnerMessage], None]


class EventReader:
    """Reads the events of one runner, up to the first violation of the protocol."""

    def __init__(self) -> None:
        self.ready = threading.Event()  # the runner has sent a ReadyEvent
        self.is_assigned = False  # to be set when it gets its assignment
        self._rest = b""
        self._has_violated = False

    def feed(self, data: bytes) -> Iterator[Event | Violation]:
        """Yield the events in the lines that `data` completes; a violation is the last one."""
        for line in self._lines(data):
            if self._has_violated:
                return
            event = self._parse(line)
            self._has_violated = isinstance(event, Violation)
            yield event

    def _lines(self, data: bytes) -> list[bytes]:
        """Return complete lines, and one that is too long for an event."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            lines.append(self._rest)
            self._rest = b""
        return lines

    def _parse(self, line: bytes) -> Event | Violation:
        if len(line) > MAX_EVENT_BYTES:
            return Violation(f"The runner wrote an event of more than {MAX_EVENT_BYTES:,} bytes.")
        try:
            event = parse_event(strict_json.loads(line))
        except InvalidInput as error:
            what = "; ".join(str(problem) for problem in error.problems[:3])
            shown = ascii(line[:200].decode("utf-8", "replace"))
            return Violation(
                f"The runner wrote a line that is not an event: {shown} ({what[:500]})"
            )
        if isinstance(event, ReadyEvent):
            if self.ready.is_set():
                return Violation("The runner sent two ready events.")
            self.ready.set()
        elif not self.is_assigned and not isinstance(event, (LogEvent, ProgressEvent)):
            return Violation(f"The runner sent a {event.kind} event before its assignment.")
        return event
