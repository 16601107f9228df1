"""One sync of the disk for all that were written while the one before it went on."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GroupFsync:
    """Threads write what they have, and then wait here until it is on the disk."""

    def __init__(self, sync: Callable[[], None]) -> None:
        """`sync` returns once everything is on the disk that was written before it was called."""
        self._sync = sync
        self._change = threading.Condition()
        self._asked = 0  # how many have come here
        self._kept = 0  # of how many of them the writes are on the disk
        self._is_syncing = False

    def wait(self) -> None:
        """Returns once this thread's writes are on the disk. Raises what the sync raises."""
        with self._change:
            self._asked += 1
            mine = self._asked
            self._change.wait_for(lambda: self._kept >= mine or not self._is_syncing)
            if self._kept >= mine:
                return
            self._is_syncing = True
            covered = self._asked
        is_kept = False
        try:
            self._sync()
            is_kept = True
        finally:
            with self._change:
                self._is_syncing = False
                if is_kept:
                    self._kept = max(self._kept, covered)
                # After a failure each of the others tries for itself, and learns what is wrong.
                self._change.notify_all()
