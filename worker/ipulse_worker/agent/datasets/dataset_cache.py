"""Uploaded data sets by the SHA-256 of their file, shared by the agents of a work directory.

Each has a lock: who downloads or deletes a data set holds it alone, attempts that read it share it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ipulse_core.errors import RemoteError
from ipulse_core.worker_faults import errors_name

PAUSE_SECONDS = 0.2  # between two tries of a lock that another agent holds
_DIGEST = re.compile(r"[0-9a-f]{64}")

Fill = Callable[[Path], None]  # makes an empty folder the data set's


class _Entry(NamedTuple):
    """A data set that is there."""

    used_at: float
    sha256: str
    size: int  # bytes


class DatasetCache:
    """A directory with a folder for each data set; those unused for longest are deleted."""

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root = root
        self._limit = limit_bytes

    @contextmanager
    def use(self, sha256: str, fill: Fill, pause: Callable[[float], bool]) -> Iterator[Path]:
        """Yield the folder of a data set, which stays until the context ends.

        Args:
            sha256: of the file that was uploaded.
            fill: makes the data set, if it is not there; its errors are raised.
            pause: sleeps for so many seconds while another agent downloads the data set; returns
                True to give up.

        Raises:
            RemoteError: `pause` returned True, or this is no digest.
        """
        if not _DIGEST.fullmatch(sha256):
            raise RemoteError("the service sent an impossible digest of a data set")
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._root / sha256
        descriptor = os.open(self._lock_file(sha256), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not self._lock_existing(descriptor, folder):
                while not _try_lock(descriptor, fcntl.LOCK_EX):
                    if pause(PAUSE_SECONDS):
                        raise RemoteError("the attempt ended while its data were downloaded")
                if not folder.exists():
                    self._make(folder, fill)
            os.utime(descriptor)  # the time of its last use
            yield folder
        finally:
            os.close(descriptor)
        self.shrink()

    def digests(self) -> list[str]:
        """Return the digests of the data sets that are there."""
        return sorted(entry.sha256 for entry in self._entries())

    def shrink(self, wanted_bytes: int | None = None) -> None:
        """Delete data sets that no attempt uses until all take at most so many bytes."""
        limit = self._limit if wanted_bytes is None else wanted_bytes
        entries = sorted(self._entries())
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= limit:
                return
            if self._delete(entry.sha256):
                total -= entry.size

    def _lock_existing(self, descriptor: int, folder: Path) -> bool:
        """Share the lock of a data set; return whether that is there."""
        if _try_lock(descriptor, fcntl.LOCK_SH) and folder.exists():
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False

    def _make(self, folder: Path, fill: Fill) -> None:
        """Make the folder of a data set, and in the end give it its name."""
        partial = folder.with_suffix(".new")
        shutil.rmtree(partial, ignore_errors=True)  # of an agent that died
        with errors_name(partial):
            partial.mkdir(mode=0o700)
        try:
            fill(partial)
            size = 0
            for path in partial.rglob("*"):
                if path.is_file():
                    size += path.stat().st_size
                    path.chmod(0o400)
            with errors_name(folder):
                self._size_file(folder.name).write_text(str(size), "ascii")
                os.replace(partial, folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise

    def _entries(self) -> Iterator[_Entry]:
        with suppress(FileNotFoundError):
            for path in self._root.iterdir():
                if _DIGEST.fullmatch(path.name):
                    with suppress(OSError, ValueError):  # deleted meanwhile
                        used_at = self._lock_file(path.name).stat().st_mtime
                        size = int(self._size_file(path.name).read_text("ascii"))
                        yield _Entry(used_at, path.name, size)

    def _delete(self, sha256: str) -> bool:
        """Delete a data set unless somebody uses it; return whether it is gone."""
        with suppress(OSError):
            descriptor = os.open(self._lock_file(sha256), os.O_RDWR)
            try:
                if not _try_lock(descriptor, fcntl.LOCK_EX):
                    return False
                shutil.rmtree(self._root / sha256)
                self._size_file(sha256).unlink(missing_ok=True)
                return True
            finally:
                os.close(descriptor)
        return False

    def _lock_file(self, sha256: str) -> Path:
        return self._root / f"{sha256}.lock"

    def _size_file(self, sha256: str) -> Path:
        return self._root / f"{sha256}.size"


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
