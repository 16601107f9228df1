"""A thread pool for file operations, so that a slow store does not delay other requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
from anyio import to_thread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Each may need two connections to the database: see `ipulse_service/db/postgresql.py`.
THREADS = 16


class _OfLoop(threading.local):
    """The limiter of an event loop, which has a thread of its own."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(THREADS)


class FileThreadPool:
    """Threads apart from those that answer requests; each event loop has as many."""

    def __init__(self) -> None:
        self._of_loop = _OfLoop()

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Runs a function in one of the threads as soon as one is free."""
        return await to_thread.run_sync(function, *arguments, limiter=self._of_loop.limiter)
