"""One thread at a time for each name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class KeyedLock:
    """For names of which there are any number, each used for a moment."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._change = threading.Condition()

    @contextmanager
    def acquire(self, name: str, seconds: float) -> Iterator[bool]:
        """Whether it became this thread's turn within so many seconds; if so, until the end."""
        with self._change:
            is_mine = self._change.wait_for(lambda: name not in self._taken, seconds)
            if is_mine:
                self._taken.add(name)
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._change:
                    self._taken.remove(name)
                    self._change.notify_all()
