"""Records of the jobs of this host's agents that use real IPUs.

Poplar attaches these IPUs. A record lists a job for as long as its process lives; a lock, which the
kernel releases with the process, shows this.
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
    """A job that uses IPUs."""

    job_id: str
    pid: int
    ipus: int
    since: float  # seconds since 1970


class UsageRecords:
    """The records in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: Optional[int] = None

    def hold(self, job_id: str, ipus: int) -> None:
        """Record that this process uses IPUs for the job, until `drop` or its end."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / str(os.getpid())
        self._held = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        content = json.dumps({"job_id": job_id, "ipus": ipus, "since": time.time()})
        os.ftruncate(self._held, 0)
        os.pwrite(self._held, content.encode(), 0)

    def drop(self) -> None:
        """Remove this process's record; may be called twice."""
        if self._held is not None:
            with contextlib.suppress(FileNotFoundError):
                (self._directory / str(os.getpid())).unlink()
            os.close(self._held)
            self._held = None

    def others(self) -> List[UsageRecord]:
        """Return other live processes' records, the oldest first; remove those of dead ones."""
        paths = self._directory.iterdir() if self._directory.is_dir() else iter(())
        records = [_read(path) for path in paths if path.name != str(os.getpid())]
        return sorted((record for record in records if record), key=lambda record: record.since)


def _read(path: Path) -> Optional[UsageRecord]:
    """Read a record; None if its process has ended or is still writing it."""
    try:
        descriptor = os.open(str(path), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            content = json.loads(os.pread(descriptor, 4096, 0))
            return UsageRecord(
                str(content["job_id"]), int(path.name), content["ipus"], float(content["since"])
            )
        return None
    else:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    finally:
        os.close(descriptor)
