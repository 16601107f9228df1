"""The work directory of an attempt: private, locked while in use, removed at the end."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ipulse_core.errors import RemoteError
from ipulse_core.messages import ID

_log = logging.getLogger(__name__)

# For the files of attempts of which nobody knows whether they are over: their agent has died, and
# its record of them is lost.
KEEP_SECONDS = 24 * 3600.0


class WorkDirectory:
    """A directory named after the attempt, removed after its context unless `is_kept` is set."""

    def __init__(self, root: Path, attempt_id: str) -> None:
        """Choose the path. Raises RemoteError for an id that is not a safe file name."""
        if not ID.fullmatch(attempt_id):
            raise RemoteError(f"the service sent an invalid attempt id: {attempt_id!r}")
        self.path = root / attempt_id
        self.is_kept = False
        self._lock = -1

    def __enter__(self) -> WorkDirectory:
        self.path.mkdir(mode=0o700)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.is_kept:
            _remove(self.path)
        os.close(self._lock)


def remove_of_attempt(root: Path, attempt_id: str) -> bool:
    """Remove the directory of an attempt that is over, unless a living agent uses it.

    Returns whether there is no such directory now.
    """
    path = root / attempt_id
    if not ID.fullmatch(attempt_id) or path.is_symlink() or not path.is_dir():
        return True
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return _remove(path)
    finally:
        os.close(descriptor)


def sweep(root: Path, keep_seconds: float = KEEP_SECONDS) -> Iterator[Path]:
    """Remove old directories of dead agents and unreported attempts; yield their paths."""
    for path in root.iterdir():
        if not path.is_dir() or path.is_symlink() or not ID.fullmatch(path.name):
            continue
        try:
            if time.time() - path.stat().st_mtime < keep_seconds:
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # another agent of this machine has removed it
        try:
            # An agent that is alive holds the lock.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            if _remove(path):
                yield path
        finally:
            os.close(descriptor)


def _remove(path: Path) -> bool:
    """Remove a directory and return whether that worked; a failure is only logged."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        _log.warning("work_directory_not_removed", extra={"path": str(path), "why": str(error)})
        return False
    return True
