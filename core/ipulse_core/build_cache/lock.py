"""The lock that a process holds while it builds or removes a directory of the cache."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import IO, Callable, Iterator

LOCK_SUFFIX = ".lock"
POLL_SECONDS = 0.2


def lock_of(directory: Path) -> Path:
    """Return the lock file of a directory."""
    return directory.parent / f"{directory.name}{LOCK_SUFFIX}"


@contextlib.contextmanager
def locked(
    path: Path, on_wait: Callable[[str], None] = lambda note: None
) -> Iterator[Callable[[str], None]]:
    """Hold the lock against other processes.

    Yields a function that writes a note into the lock file, for processes that wait.
    on_wait: called with the holder's note, which may be empty, when this process begins to wait
    and each time that the note changes.
    """
    while True:
        with path.open("a+") as file:
            _acquire(file, on_wait)  # the kernel releases it with the file, also after a crash
            if is_still(path, file.fileno()):
                file.truncate(0)
                yield lambda note: _write(file, note)
                return


def is_still(path: Path, descriptor: int) -> bool:
    """Return whether the file that was opened as `path` still has that name."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(now, os.fstat(descriptor))


def _acquire(file: IO[str], on_wait: Callable[[str], None]) -> None:
    seen = None
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            note = file.read()
            if note != seen and (note or seen is None):  # a note is empty while it is written
                on_wait(note)
                seen = note
            time.sleep(POLL_SECONDS)
        else:
            return


def _write(file: IO[str], note: str) -> None:
    file.truncate(0)  # the file is open for appending
    file.write(note)
    file.flush()
