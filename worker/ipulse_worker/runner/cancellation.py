"""Orders of the agent: SIGTERM cancels the attempt, SIGUSR1 ends its training early.

The runner heeds both between two training steps.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Optional


class Cancelled(Exception):
    """The attempt was cancelled and has stopped."""


class Cancellation:
    """Records which signals arrived.

    Before an assignment there is nothing to finish, so the signal ends the process at once.
    """

    def __init__(self) -> None:
        self.requested = False
        self.finish_requested = False  # the training ends now, and its results are written
        self._assigned = False
        signal.signal(signal.SIGTERM, self._receive)
        signal.signal(signal.SIGUSR1, self._receive_finish)

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

    def _receive_finish(self, number: int, frame: Optional[FrameType]) -> None:
        self.finish_requested = True
