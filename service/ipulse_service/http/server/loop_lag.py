"""How late an event loop runs what is due: its requests lie unread for so long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

TURN_SECONDS = 0.25  # between two measurements
WARNED_SECONDS = 1.0  # a longer lag is logged

_log = logging.getLogger(__name__)


class LoopLag:
    """Measures the lag of one event loop while `measure` runs on it."""

    def __init__(self, lane: str, record: Callable[[float], None]) -> None:
        """`record` gets each measured lag in seconds; `lane` names the loop in the log."""
        self._lane = lane
        self._record = record
        self._due: float | None = None  # when the loop is to continue here, monotonic

    async def measure(self, on_turn: Callable[[], None] = lambda: None) -> None:
        """Measures until it is cancelled; `on_turn` is called at each turn of the loop."""
        try:
            while True:
                self._due = time.monotonic() + TURN_SECONDS
                await asyncio.sleep(TURN_SECONDS)
                lag = self.seconds()
                self._record(lag)
                if lag > WARNED_SECONDS:
                    _log.warning(
                        "event_loop_blocked",
                        extra={"lane": self._lane, "seconds": round(lag, 3)},
                    )
                on_turn()
        finally:
            self._due = None

    def seconds(self) -> float:
        """Returns the present lag. Any thread may call this."""
        due = self._due
        return 0.0 if due is None else max(0.0, time.monotonic() - due)
