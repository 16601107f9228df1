"""A thread pool for file operations, so that a slow store does not delay other requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
from anyio import to_thread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Each may need two connections to the database: see `ipulse_service/db/postgresql.py`.
THREADS = 16


class FileThreadPool:
    """Threads apart from those that answer requests."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(THREADS)

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Runs a function in one of the threads as soon as one is free."""
        return await to_thread.run_sync(function, *arguments, limiter=self._limiter)
