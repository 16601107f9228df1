"""A lock for each of any number of names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class KeyedLock:
    """Locks by name between threads; a name takes memory only while it is locked."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._change = threading.Condition()

    @contextmanager
    def acquire(self, name: str, seconds: float) -> Iterator[bool]:
        """Locks a name while the block runs. Yields False if it stayed locked for `seconds`."""
        with self._change:
            is_acquired = self._change.wait_for(lambda: name not in self._taken, seconds)
            if is_acquired:
                self._taken.add(name)
        try:
            yield is_acquired
        finally:
            if is_acquired:
                with self._change:
                    self._taken.remove(name)
                    self._change.notify_all()
