"""Who is next: processes of one host in the order in which they came.

Each has a file that it keeps open and locked; the kernel unlocks it when the process ends, and
whoever finds an unlocked one removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Any, List


class QueueEntry:
    """A place in the queue, kept until `close`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # The clock is that of all processes of a host, and later ones get later names.
        self._name = f"{time.monotonic_ns():020d}-{os.getpid()}"
        new = directory / f".{self._name}"
        self._descriptor = os.open(str(new), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        new.rename(directory / self._name)  # locked already: nobody takes it for a dead one's

    def position(self) -> int:
        """From 1, which is next. Those that died waiting count until they are found at the head."""
        names = self._names()
        while names[0] != self._name and self._is_dead(names[0]):
            del names[0]
        return 1 + names.index(self._name)

    def close(self) -> None:
        """Leaves the queue. Doing so twice is no error."""
        if self._descriptor >= 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._directory / self._name)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> QueueEntry:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _names(self) -> List[str]:
        return sorted(name for name in os.listdir(self._directory) if not name.startswith("."))

    def _is_dead(self, name: str) -> bool:
        """Removes the file of a process that is no more."""
        try:
            # Not for writing: closing it then would look like a process that left.
            descriptor = os.open(str(self._directory / name), os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._directory / name)
        return True
