"""Which jobs of this host's agents have IPUs of the machine.

Poplar keeps these IPUs, not we: a record says who has some for as long as its process lives, which
a lock shows that the kernel drops with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import List, NamedTuple, Optional


class UsageRecord(NamedTuple):
    """A job that has IPUs."""

    job_id: str
    pid: int
    ipus: int
    since: float  # seconds since 1970


class UsageRecords:
    """Those in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: Optional[int] = None

    def hold(self, job_id: str, ipus: int) -> None:
        """Says that this process has so many IPUs for the job, until `drop` or its end."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / str(os.getpid())
        self._held = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        said = json.dumps({"job_id": job_id, "ipus": ipus, "since": time.time()})
        os.ftruncate(self._held, 0)
        os.pwrite(self._held, said.encode(), 0)

    def drop(self) -> None:
        """Doing so twice is no error."""
        if self._held is not None:
            with contextlib.suppress(FileNotFoundError):
                (self._directory / str(os.getpid())).unlink()
            os.close(self._held)
            self._held = None

    def others(self) -> List[UsageRecord]:
        """Of other processes that live, the oldest first. Removes those of dead ones."""
        paths = self._directory.iterdir() if self._directory.is_dir() else iter(())
        found = [_read(path) for path in paths if path.name != str(os.getpid())]
        return sorted((one for one in found if one), key=lambda one: one.since)


def _read(path: Path) -> Optional[UsageRecord]:
    """None if nobody holds it, or somebody is just writing it."""
    try:
        descriptor = os.open(str(path), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(os.pread(descriptor, 4096, 0))
            return UsageRecord(
                str(said["job_id"]), int(path.name), said["ipus"], float(said["since"])
            )
        return None
    else:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    finally:
        os.close(descriptor)
