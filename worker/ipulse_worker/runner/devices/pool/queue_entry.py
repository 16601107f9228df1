"""A queue of the processes of one host, in order of arrival.

Each process keeps a file open and locked. The kernel unlocks it when the process ends, and other
processes remove unlocked files.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Any, List


class QueueEntry:
    """A process's place in the queue, until `close`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # All processes of a host share this clock, so later entries get later names.
        self._name = f"{time.monotonic_ns():020d}-{os.getpid()}"
        new = directory / f".{self._name}"
        self._descriptor = os.open(str(new), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        new.rename(directory / self._name)  # locked already, so nobody removes it

    def position(self) -> int:
        """Return the position from 1; dead processes are removed when they reach the head."""
        names = self._names()
        while names[0] != self._name and self._is_dead(names[0]):
            del names[0]
        return 1 + names.index(self._name)

    def close(self) -> None:
        """Leave the queue; may be called twice."""
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
        """Return whether a process has ended, and remove its file."""
        try:
            # Read-only: closing a file opened for writing would look like a process that left.
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
