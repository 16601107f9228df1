"""Messages from a runner process: its events, a protocol violation, and its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipulse_core.events import Event

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


class Lines:
    """Splits bytes into lines, and gives up a line that is too long for an event."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes; a line without a newline is never returned."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            lines.append(self._rest)
            self._rest = b""
        return lines
