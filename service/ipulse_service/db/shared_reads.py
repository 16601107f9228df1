"""One look at the database for all who ask for the same at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from starlette.concurrency import run_in_threadpool

Found = TypeVar("Found")


class SharedReads:
    """For coroutines of one event loop, such as the many streams of one job."""

    def __init__(self) -> None:
        self._coming: dict[Hashable, asyncio.Task[Any]] = {}  # asked for, and not begun

    async def get(self, key: Hashable, read: Callable[[], Found]) -> Found:
        """What `read` finds, in a thread; equal keys must mean equal reads.

        It begins after this was called: what was committed before is seen, whoever had asked for
        the same already.
        """
        coming = self._coming.get(key)
        if coming is None:

            def begin() -> Found:
                # From here on, whoever asks needs another look.
                del self._coming[key]
                return read()

            coming = asyncio.create_task(run_in_threadpool(begin))
            self._coming[key] = coming
        # One that goes away takes nobody else's look along.
        return cast(Found, await asyncio.shield(coming))
