"""Threads for what reads and writes files: a store that is slow keeps nobody else waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
from anyio import to_thread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# of each two may need a connection to the database: see `service/ipulse_service/db/postgresql.py`
THREADS = 16


class FileThreadPool:
    """Beside the threads in which requests are answered: those are never used up by files."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(THREADS)

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Runs a function in one of these threads, as soon as one is free."""
        return await to_thread.run_sync(function, *arguments, limiter=self._limiter)
