"""Errors of the operating system that are faults of a worker and not of a job."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Dict, Iterator, Optional, Union

from ipulse_core.errors import IPUlseError
from ipulse_core.states import Reason

PathLike = Union[str, "os.PathLike[str]"]

REASONS: Dict[int, Reason] = {
    errno.ENOSPC: Reason.WORKER_DISK_FULL,
    errno.EDQUOT: Reason.WORKER_DISK_FULL,
    errno.EROFS: Reason.WORKER_DISK_FAILED,
    errno.EIO: Reason.WORKER_DISK_FAILED,
    errno.ESTALE: Reason.WORKER_DISK_FAILED,
    errno.EMFILE: Reason.WORKER_LIMIT,
    errno.ENFILE: Reason.WORKER_LIMIT,
    errno.EAGAIN: Reason.WORKER_LIMIT,  # of fork and clone
}
NO_THREAD = "can't start new thread"  # Python's RuntimeError
# Messages of programs: C's errors, and threads that Python and TensorFlow cannot create.
TEXTS: Dict[str, Reason] = {
    **{os.strerror(number): reason for number, reason in REASONS.items()},
    NO_THREAD: Reason.WORKER_LIMIT,
    "creation via pthread_create() failed": Reason.WORKER_LIMIT,
}
MAX_MESSAGE = 1000  # characters of a fault as JSON
MAX_CHAIN = 20  # exceptions behind an exception


@dataclass(frozen=True)
class WorkerFault:
    """Why a worker cannot run a job; the message names the path."""

    reason: Reason
    message: str

    def to_json(self) -> Dict[str, str]:
        """Return the fault as JSON."""
        return {"reason": self.reason.value, "message": self.message[:MAX_MESSAGE]}


def fault_of(error: BaseException, directory: Optional[PathLike] = None) -> Optional[WorkerFault]:
    """Return the worker's fault behind an exception, None if there is none.

    Args:
        error: The exception; those that caused it are searched, too.
        directory: Where the process writes, for errors that name no path.
    """
    link: Optional[BaseException] = error
    for _ in range(MAX_CHAIN):
        if link is None:
            return None
        found = _fault_of_one(link, directory)
        if found:
            return found
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return None


def fault_in(text: str, directory: Optional[PathLike] = None) -> Optional[WorkerFault]:
    """Return the worker's fault that a message of another program names, None if it names none."""
    for words, reason in TEXTS.items():
        if words in text:
            line = next(line for line in text.split("\n") if words in line)
            message = line.strip()[:300]
            if directory is not None and os.fspath(directory) not in message:
                message = f"{os.fspath(directory)}: {message}"
            if reason is Reason.WORKER_DISK_FULL and directory is not None:
                message += _measured(directory)
            return WorkerFault(reason, message)
    return None


@contextmanager
def errors_name(path: PathLike) -> Iterator[None]:
    """Add a path to errors of the operating system that name none, as those of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _fault_of_one(error: BaseException, directory: Optional[PathLike]) -> Optional[WorkerFault]:
    if isinstance(error, RuntimeError) and NO_THREAD in str(error):
        return WorkerFault(Reason.WORKER_LIMIT, "The worker cannot start another thread.")
    if isinstance(error, IPUlseError):
        return None  # its message may quote a user
    if not isinstance(error, OSError) or error.errno is None:
        return fault_in(str(error), directory)
    reason = REASONS.get(error.errno)
    if reason is None:
        return None
    what = error.strerror or os.strerror(error.errno)
    path = error.filename2 or error.filename or directory
    if path is None:
        return WorkerFault(reason, f"{what}.")
    where = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
    measured = _measured(where) if reason is Reason.WORKER_DISK_FULL else ""
    return WorkerFault(reason, f"{where}: {what}{measured}.")


def _measured(path: PathLike) -> str:
    """Return how much is free where a path is, or would be."""
    place = os.path.abspath(os.fspath(path))
    while not os.path.exists(place):
        place = os.path.dirname(place)
    try:
        disk = os.statvfs(place)
    except OSError:
        return ""
    size = f"{disk.f_bavail * disk.f_frsize:,} of {disk.f_blocks * disk.f_frsize:,} bytes"
    inodes = f" and {disk.f_favail:,} of {disk.f_files:,} inodes" if disk.f_files else ""
    return f" ({size}{inodes} are free)"
