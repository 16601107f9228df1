"""The executables that TensorFlow for the IPU caches, one directory per op and network.

TensorFlow names the files and trusts them. A process that uses a directory holds a lock on it,
which the kernel releases with the process, so that no directory in use is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import List, Optional

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.limits import Entry, Limits

NAME = "poplar-executables"  # in the cache directory


class PoplarExecutables:
    """The executables in a directory, by default in the cache directory."""

    def __init__(self, directory: Optional[Path] = None) -> None:
        self.directory = directory or cache_directory() / NAME

    def use(self, key: str) -> InUse:
        """Return the directory of a key, created if needed, with its time of use set to now."""
        path = self.directory / key
        while True:
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # it is being removed
                used = InUse(path, os.open(str(path), os.O_RDONLY | os.O_DIRECTORY))
                if used.is_current():
                    os.utime(path)
                    return used

    def entries(self) -> List[Entry]:
        """Return the cached executables. The name of an entry's path is its key."""
        found = []
        for path in self.directory.iterdir() if self.directory.is_dir() else ():
            with contextlib.suppress(OSError):  # gone since it was listed
                size = sum(file.stat().st_size for file in path.iterdir())
                found.append(Entry(path.stat().st_mtime, size, path))
        return found

    def is_in_use(self, entry: Entry) -> bool:
        """Return True if a running process holds the entry."""
        with contextlib.suppress(FileNotFoundError):
            descriptor = _locked(entry.path)
            if descriptor is None:
                return True
            os.close(descriptor)
        return False

    def prune(self, limits: Limits) -> List[Entry]:
        """Remove and return the entries that are beyond the limits and not in use."""
        gone = []
        for entry in limits.beyond(self.entries(), time.time()):
            with contextlib.suppress(OSError):
                descriptor = _locked(entry.path)
                if descriptor is None:
                    continue
                try:
                    shutil.rmtree(entry.path)
                finally:
                    os.close(descriptor)
                gone.append(entry)
        return gone


class InUse:
    """The directory of a key, locked until `close` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        fcntl.flock(descriptor, fcntl.LOCK_SH)

    def is_current(self) -> bool:
        """Return False if the path names another directory now. Raises FileNotFoundError."""
        if os.stat(str(self.path)).st_ino == os.fstat(self._descriptor).st_ino:
            return True
        self.close()
        return False

    def close(self) -> None:
        """Release the directory. Further calls have no effect."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _locked(path: Path) -> Optional[int]:
    """Lock the directory exclusively. Return its descriptor, or None if it is in use.

    Raises FileNotFoundError.
    """
    descriptor = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
