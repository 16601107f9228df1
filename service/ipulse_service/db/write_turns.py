"""The order of writers to SQLite, which has one at a time.

The requests of users queue among themselves, so that one of an agent, or a thread in the
background, competes with one of them at a time, however many there are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# True in a request of a user; threads that work for a request inherit it.
is_user: ContextVar[bool] = ContextVar("is_user", default=False)


class WriteTurns:
    """A lock in which the requests of users queue behind one of them."""

    def __init__(self) -> None:
        self._writer = threading.Lock()
        self._first_user = threading.Lock()

    @contextmanager
    def turn(self, seconds: float) -> Iterator[bool]:
        """Yields whether it is locked, which it may not be after so many seconds."""
        locks = (self._first_user, self._writer) if is_user.get() else (self._writer,)
        deadline = time.monotonic() + seconds
        held: list[threading.Lock] = []
        try:
            for lock in locks:
                if not lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                    break
                held.append(lock)
            yield len(held) == len(locks)
        finally:
            for lock in reversed(held):
                lock.release()
