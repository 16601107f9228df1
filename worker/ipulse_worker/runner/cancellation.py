"""Cancellation: the agent sends SIGTERM, and the runner stops between two training steps."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Optional


class Cancelled(Exception):
    """The attempt was cancelled and has stopped."""


class Cancellation:
    """Records that SIGTERM arrived.

    Before an assignment there is nothing to finish, so the signal ends the process at once.
    """

    def __init__(self) -> None:
        self.requested = False
        self._assigned = False
        signal.signal(signal.SIGTERM, self._receive)

    def defer(self) -> None:
        """Only record the signal from now on."""
        self._assigned = True

    def check(self) -> None:
        """Raise Cancelled if the signal has arrived."""
        if self.requested:
            raise Cancelled

    def _receive(self, number: int, frame: Optional[FrameType]) -> None:
        self.requested = True
        if not self._assigned:
            raise SystemExit(0)
