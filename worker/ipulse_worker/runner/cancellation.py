"""A request to stop: SIGTERM from the agent, obeyed between two training steps."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Optional


class Cancelled(Exception):
    """The attempt was asked to stop and has stopped."""


class Cancellation:
    """Remembers that SIGTERM arrived.

    Before an assignment there is nothing to finish, so the signal ends the process at once.
    """

    def __init__(self) -> None:
        self.requested = False
        self._assigned = False
        signal.signal(signal.SIGTERM, self._receive)

    def defer(self) -> None:
        """From now on the signal is only remembered."""
        self._assigned = True

    def check(self) -> None:
        """Raises Cancelled if the signal has come."""
        if self.requested:
            raise Cancelled

    def _receive(self, number: int, frame: Optional[FrameType]) -> None:
        self.requested = True
        if not self._assigned:
            raise SystemExit(0)
