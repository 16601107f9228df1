"""Turns of tokens at the reader: each reads one document at a time, and all in rotation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from ipulse_core.errors import Unavailable

WAIT_SECONDS = 25.0  # of a request; clients try again later
MOST_WAITING = 8  # requests of one token


class ReaderBusy(Unavailable):
    """Other documents are being read; try again later."""

    code = "reader_busy"


class _Waiting(NamedTuple):
    token: str
    arrival: int
    begun: asyncio.Future[None]


class Turns:
    """Lets a few requests read at once, and of these one of each token.

    The next turn is that of the token whose last turn is the longest ago. It belongs to one event
    loop, so that a request that waits holds no thread.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._active: set[str] = set()
        self._waiting: list[_Waiting] = []
        self._latest: dict[str, int] = {}  # number of a token's latest turn
        self._count = 0

    @asynccontextmanager
    async def turn(self, token: str) -> AsyncIterator[None]:
        """Waits for a turn of a token. Raises ReaderBusy if there is none for a while."""
        if sum(each.token == token for each in self._waiting) >= MOST_WAITING:
            raise ReaderBusy("too many documents wait for this token: try again when one is read")
        self._count += 1
        own = _Waiting(token, self._count, asyncio.get_running_loop().create_future())
        self._waiting.append(own)
        self._begin()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await own.begun
        except BaseException as error:
            if own in self._waiting:
                self._waiting.remove(own)
            else:  # the turn began at the same moment
                self._end(token)
            if isinstance(error, TimeoutError):
                detail = "other documents are being read; try again in a minute"
                raise ReaderBusy(detail) from None
            raise
        try:
            yield
        finally:
            self._end(token)

    def _end(self, token: str) -> None:
        self._active.remove(token)
        self._begin()

    def _begin(self) -> None:
        """Gives free places to those that wait."""
        while len(self._active) < self._places:
            able = [each for each in self._waiting if each.token not in self._active]
            if not able:
                return
            chosen = min(able, key=lambda each: (self._latest.get(each.token, 0), each.arrival))
            self._waiting.remove(chosen)
            self._active.add(chosen.token)
            self._count += 1
            waiting = {each.token for each in self._waiting}
            self._latest = {
                token: turn
                for token, turn in {**self._latest, chosen.token: self._count}.items()
                if token in waiting or token in self._active
            }
            if not chosen.begun.done():
                chosen.begun.set_result(None)
