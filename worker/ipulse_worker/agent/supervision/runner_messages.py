"""What is heard of a runner: its events, and that it broke the protocol or has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipulse_core.events import Event

MAX_EVENT_BYTES = 2**20  # of one line; the longest valid event is far shorter


@dataclass(frozen=True)
class Violation:
    """The runner wrote something that is no event; nothing it says after that is believed."""

    detail: str


@dataclass(frozen=True)
class Ended:
    """The runner and all its descendants are gone; nothing comes after this."""

    exit_code: int  # negative: the signal that ended it
    oom_kills: int = 0  # that the kernel did on this machine while it had something to do


Message = Event | Violation | Ended
Listener = Callable[[Message], None]


class Lines:
    """Bytes to lines; a line that never ends is given up once it is too long for an event."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            lines.append(self._rest)
            self._rest = b""
        return lines  # a last line without its newline was cut off by death, and is no event
