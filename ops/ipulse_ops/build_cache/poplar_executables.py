"""Executables that TensorFlow for the IPU keeps, each op and network's in a directory by its key.

TensorFlow names the files in it and trusts them. A process that uses one holds a lock on its
directory, which the kernel drops with the process: nothing that is in use is ever removed.
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
    """Those of the cache directory, unless another one is named."""

    def __init__(self, directory: Optional[Path] = None) -> None:
        self.directory = directory or cache_directory() / NAME

    def use(self, key: str) -> InUse:
        """The directory of a key, made if there is none: used now, and kept until it is closed."""
        path = self.directory / key
        while True:
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # somebody was just removing it
                used = InUse(path, os.open(str(path), os.O_RDONLY | os.O_DIRECTORY))
                if used.is_still_there():
                    os.utime(path)
                    return used

    def entries(self) -> List[Entry]:
        """What is there; a path's name is its key."""
        found = []
        for path in self.directory.iterdir() if self.directory.is_dir() else ():
            with contextlib.suppress(OSError):  # gone since it was listed
                size = sum(file.stat().st_size for file in path.iterdir())
                found.append(Entry(path.stat().st_mtime, size, path))
        return found

    def is_in_use(self, entry: Entry) -> bool:
        """Whether a process that lives has it."""
        with contextlib.suppress(FileNotFoundError):
            descriptor = _locked(entry.path)
            if descriptor is None:
                return True
            os.close(descriptor)
        return False

    def prune(self, limits: Limits) -> List[Entry]:
        """Removes what is beyond the limits and not in use."""
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
    """A key's directory, kept until `close` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        fcntl.flock(descriptor, fcntl.LOCK_SH)

    def is_still_there(self) -> bool:
        """Whether the lock is one on what has the name now. Raises FileNotFoundError."""
        if os.stat(str(self.path)).st_ino == os.fstat(self._descriptor).st_ino:
            return True
        self.close()
        return False

    def close(self) -> None:
        """Doing so twice is no error."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _locked(path: Path) -> Optional[int]:
    """A descriptor that nobody else shares its lock with; None if somebody has one.

    Raises FileNotFoundError.
    """
    descriptor = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
