"""Limits how often a caller may send requests, so that one who floods leaves the others alone."""

from __future__ import annotations

import asyncio
import time

from ipulse_service.http.problems import TooFrequent

PATIENCE_SECONDS = 2.0  # that an early request waits for its turn, instead of being refused
REFUSED_SECONDS = 1.0  # until a refusal is sent: a client that ignores it can send few more
_MAX_CALLERS = 1_000  # that are remembered, unless more of them send requests at once


class RequestRate:
    """Admits the requests of each caller in turn: `burst` at once, `per_second` after these.

    It belongs to one event loop.
    """

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval = 1 / per_second
        self._tolerance = (burst - 1) * self._interval
        self._next_turns: dict[str, float] = {}  # of a caller without a burst, on time.monotonic

    async def admit(self, caller: str) -> None:
        """Returns when it is the turn of a caller's request.

        Raises TooFrequent, after a moment, if it would have to wait for long.
        """
        now = time.monotonic()
        turn = max(self._next_turns.get(caller, now), now)
        seconds = turn - self._tolerance - now
        if seconds > PATIENCE_SECONDS:
            await asyncio.sleep(REFUSED_SECONDS)
            raise TooFrequent()
        if len(self._next_turns) >= _MAX_CALLERS:
            self._forget_turns_before(now)
        self._next_turns[caller] = turn + self._interval
        if seconds > 0:
            await asyncio.sleep(seconds)

    def _forget_turns_before(self, now: float) -> None:
        self._next_turns = {name: at for name, at in self._next_turns.items() if at > now}
