"""A file on its way into the store: one upload writes it at a time, the next may resume it."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO, IOBase
from pathlib import Path

from ipulse_core.errors import InvalidInput, Unavailable
from ipulse_core.worker_faults import errors_name
from ipulse_service.files.checksums import BLOCK_BYTES, Checksums

ABANDONED_SECONDS = 86_400  # an interrupted upload this old is deleted
_FULL = (errno.ENOSPC, errno.EDQUOT)


class StoreTrouble(Unavailable):
    """The artifact store cannot read or write now."""

    code = "artifact_store"


class WrongContent(InvalidInput):
    """The content that arrived is not the one announced; send it again."""

    code = "wrong_content"


class PartialUpload:
    """A file that is written and hashed, and not yet visible in the store."""

    def __init__(self, path: Path) -> None:
        """Opens the file at `path` to continue it, or creates it.

        Raises StoreTrouble; its cause is a BlockingIOError while another upload writes there.
        """
        self.path = path
        self.size = 0
        self.checksums = Checksums()
        with translate_os_errors():
            self._file = _locked(path)
            self._file.seek(0)
            while chunk := self._file.read(BLOCK_BYTES):
                self.checksums.update(chunk)
                self.size += len(chunk)

    @property
    def sha256(self) -> str:
        """The SHA-256 of what is written."""
        return self.checksums.sha256

    def write(self, content: bytes | memoryview) -> None:
        """Appends to the file. Raises StoreTrouble, for instance when the disk is full."""
        rest = memoryview(content)
        with translate_os_errors(), errors_name(self.path):
            while rest:  # the system may write less than it is given
                rest = rest[self._file.write(rest) :]
        self.checksums.update(content)
        self.size += len(content)

    def sync(self) -> None:
        """Returns once what is written is on the disk. Raises StoreTrouble."""
        with translate_os_errors(), errors_name(self.path):
            os.fsync(self._file.fileno())
            size = os.fstat(self._file.fileno()).st_size
        if size != self.size:
            raise StoreTrouble(f"the artifact store fails: {self.size} bytes written, {size} there")

    def restart(self) -> None:
        """Discards what is written."""
        with translate_os_errors(), errors_name(self.path):
            self._file.truncate(0)
        self.checksums = Checksums()
        self.size = 0

    def suspend(self) -> None:
        """Closes the file and leaves it for the next try to resume."""
        with suppress(OSError):  # on a full disk, what fits stays
            self._file.close()

    def close(self) -> None:
        """Closes the file and deletes it, unless the store has taken it."""
        # Before the lock is released: later it may be another upload's.
        if _is_at(self._file, self.path):
            self.path.unlink()
        with suppress(OSError):  # data that a full disk did not take
            self._file.close()


def open_upload(folder: Path, name: str) -> PartialUpload:
    """Opens the upload of a name, or a new one while another request writes that name."""
    if name:
        try:
            return PartialUpload(folder / name)
        except StoreTrouble as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise
    return PartialUpload(folder / secrets.token_hex(16))


def drop_upload(folder: Path, name: str) -> None:
    """Deletes an interrupted upload; one that a request is writing ends by itself."""
    if (folder / name).exists():
        with suppress(StoreTrouble):
            PartialUpload(folder / name).close()


def _locked(path: Path) -> FileIO:
    """Opens a file that no other upload writes. Raises BlockingIOError while one does."""
    while True:
        file = path.open("ab+", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        if _is_at(file, path):
            return file
        file.close()  # another upload was completed or deleted between open and lock


def _is_at(file: IOBase, path: Path) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def resumable_bytes(path: Path) -> int:
    """Counts the bytes of an interrupted upload; 0 while another request writes it."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return 0
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        return os.fstat(file.fileno()).st_size if _is_at(file, path) else 0


def delete_abandoned(folder: Path) -> None:
    """Deletes old files of uploads that no request is writing, whatever the clock says."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError, BlockingIOError):  # it was finished, or is in progress
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                with path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Raises StoreTrouble, with a hint, in place of an OSError."""
    try:
        yield
    except OSError as error:
        hint = "; free some space" if error.errno in _FULL else ""
        raise StoreTrouble(f"the artifact store fails: {error.strerror}{hint}") from error
