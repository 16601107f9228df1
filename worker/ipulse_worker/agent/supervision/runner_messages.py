"""Messages from a runner process: its events, a protocol violation, and its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipulse_core.events import Event


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
