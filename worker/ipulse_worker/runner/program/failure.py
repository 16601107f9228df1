"""Errors of a program that end its job with a reason."""

from __future__ import annotations

from typing import Optional

from ipulse_core.events import LogEvent
from ipulse_core.states import Reason

_THROWN = "what():"  # begins the message of an exception that nobody caught
MAX_THROWN = 2000  # characters


class ProgramFailure(Exception):
    """The program could not be built, or ended badly."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class UncaughtException:
    """Remembers the message of the C++ runtime about an exception that ended the program.

    The program may have written it itself: it is only shown, and never decides what happens next.
    """

    def __init__(self) -> None:
        self.message: Optional[str] = None

    def see(self, event: LogEvent) -> None:
        """Look at a line."""
        text = event.message.strip()
        if event.stream == "stderr" and text.startswith(_THROWN):
            self.message = text[len(_THROWN) :].strip()[:MAX_THROWN]
