"""The builds of users' custom ops in the cache: their size has a limit, and those in use stay."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path
from typing import IO, Iterator, List, Optional

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.limits import Entry, Limits
from ipulse_core.build_cache.lock import is_still, lock_of
from ipulse_core.build_cache.unused_builds import remove_build

LIMIT_BYTES = 2**30
LIMIT_VARIABLE = "IPULSE_OP_BUILD_BYTES"
_NAME = re.compile(r"op(-[0-9a-f]{16}){2}")


def limits_of_op_builds(bytes: Optional[int] = None, days: Optional[float] = None) -> Limits:
    """Return the given limits, or those of the environment.

    Raises ValueError for a variable that is not a number.
    """
    return Limits.of_environment(bytes, days, LIMIT_VARIABLE, LIMIT_BYTES)


class OpBuilds:
    """The builds of this machine: folders `op-...` of the cache."""

    def __init__(self) -> None:
        self.directory = cache_directory()

    def entries(self) -> List[Entry]:
        """Return all builds, in no order."""
        return list(self._each_entry())

    def is_in_use(self, entry: Entry) -> bool:
        """Return whether a job holds a build."""
        with contextlib.suppress(FileNotFoundError), lock_of(entry.path).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def prune(self, limits: Limits) -> List[Entry]:
        """Remove and return builds beyond the limits, the least recently used first.

        Those in use stay, whatever their size.
        """
        gone = []
        for entry in limits.beyond(self.entries(), time.time()):
            with contextlib.suppress(OSError):  # in use, or of another user
                if remove_build(entry.path, oldest=float("inf")):
                    gone.append(entry)
        return gone

    def _each_entry(self) -> Iterator[Entry]:
        for path in self.directory.glob("op-*"):
            if not _NAME.fullmatch(path.name):
                continue
            with contextlib.suppress(OSError):  # removed meanwhile
                size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                yield Entry(path.stat().st_mtime, size, path)


def hold(build: Path) -> Optional[IO[str]]:
    """Record the use of a build, and keep others from removing it until the result is closed.

    Returns None if the cache is read-only: nothing is removed from it.
    """
    with contextlib.suppress(OSError):
        os.utime(str(build))
    lock = lock_of(build)
    while True:
        try:
            file = lock.open("a+")
        except OSError:
            return None
        fcntl.flock(file, fcntl.LOCK_SH)
        if is_still(lock, file.fileno()):
            return file
        file.close()
