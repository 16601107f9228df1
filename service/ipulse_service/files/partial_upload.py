"""A file on its way into a store: one upload at a time writes it, the next may go on with it."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO, IOBase
from pathlib import Path

from ipulse_core.blocks import BLOCK_BYTES
from ipulse_core.errors import InvalidInput, Unavailable
from ipulse_service.files.checksums import Checksums

_FULL = (errno.ENOSPC, errno.EDQUOT)
_HASHED_AT_ONCE = 2**20  # bytes; after each, whoever hashes waits for the threads that do not
_CACHED_BYTES = 2**25  # so large a file does not stay in memory, see `PartialUpload.sync`


class StoreTrouble(Unavailable):
    """The artifact store cannot read or write now."""

    code = "artifact_store"


class WrongContent(InvalidInput):
    """What arrived is not what was announced; send it again."""

    code = "wrong_content"


class PartialUpload:
    """A file on its way into the store: written, hashed, and not yet visible.

    One thread may write, another hash and a third sync at the same time.
    """

    def __init__(self, path: Path, *, is_read_next: bool = False) -> None:
        """Goes on with what is at the path already, if anything.

        is_read_next: by whoever keeps it.

        Raises StoreTrouble, its cause a BlockingIOError while another upload writes there.
        """
        self.path = path
        self.size = 0
        self._hashed = self._synced = 0
        self._is_read_next = is_read_next
        # A mapping is given back with the upload: the allocator would keep so much for each thread.
        self._room = memoryview(mmap.mmap(-1, _HASHED_AT_ONCE, mmap.MAP_PRIVATE))
        self.checksums = Checksums()
        with translate_os_errors():
            self._file = _locked(path)
            self._file.seek(0)
            while chunk := self._file.read(BLOCK_BYTES):
                self.checksums.update(chunk)
                self.size += len(chunk)
        self._hashed = self.size

    @property
    def sha256(self) -> str:
        """Of what is written by now; what was not hashed yet is read for it."""
        self.hash()
        return self.checksums.sha256

    def write(self, *chunks: bytes) -> None:
        """Raises StoreTrouble, for instance when the disk is full."""
        with translate_os_errors():
            for chunk in chunks:
                rest = memoryview(chunk)
                while rest:  # the system may write less than it is given
                    rest = rest[self._file.write(rest) :]
        for chunk in chunks:
            self.checksums.divide(chunk)
            self.size += len(chunk)

    def hash(self) -> None:
        """Reads what is written by now into the digest; another thread may go on writing.

        Raises StoreTrouble.
        """
        size = self.size
        if self._hashed == size:
            return
        while left := size - self._hashed:
            with translate_os_errors():
                count = os.preadv(self._file.fileno(), [self._room[:left]], self._hashed)
            if not count:
                raise StoreTrouble("the artifact store fails: a file became shorter by itself")
            self.checksums.hash(self._room[:count])
            self._hashed += count

    @property
    def unhashed(self) -> int:
        """Bytes."""
        return self.size - self._hashed

    def sync(self) -> None:
        """Returns once what is written by now is on the disk; another thread may go on writing.

        Of a large file the memory is given back at once: the rest of it is written to the same
        pages, where each new one has to be cleared, or asked of a virtual machine's host, and would
        drive out what is read more often than a file that is just stored.
        """
        size = self.size
        with translate_os_errors():
            os.fsync(self._file.fileno())
            # What is not hashed yet is read again; no bytes would mean all of them.
            if self._hashed and size >= _CACHED_BYTES and not self._is_read_next:
                os.posix_fadvise(self._file.fileno(), 0, self._hashed, os.POSIX_FADV_DONTNEED)
        self._synced = size

    @property
    def unsynced(self) -> int:
        """Bytes."""
        return self.size - self._synced

    def restart(self) -> None:
        """Forgets what is there already."""
        with translate_os_errors():
            self._file.truncate(0)
        self.checksums = Checksums()
        self.size = self._hashed = self._synced = 0

    def suspend(self) -> None:
        """Leaves what has arrived where the next try can go on with it."""
        with suppress(OSError):  # a disk that is full keeps what fits
            self._file.close()

    def close(self) -> None:
        """Forgets the file, unless the store has kept it."""
        # Not once the lock is given back: by then it may be another upload's.
        if _is_at(self._file, self.path):
            self.path.unlink()
        with suppress(OSError):  # what a full disk had no room for goes with the file
            self._file.close()


def receive(make: Callable[[str], PartialUpload], name: str) -> PartialUpload:
    """What goes on under a name, or begins under a new one while somebody else is at it."""
    if name:
        try:
            return make(name)
        except StoreTrouble as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise
    return make(secrets.token_hex(16))


def _locked(path: Path) -> FileIO:
    """The file at a path, which nobody else writes. Raises BlockingIOError where somebody does."""
    while True:
        file = path.open("ab+", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        if _is_at(file, path):
            return file
        # Who had it when it was opened has kept or forgotten it since: it is no upload any more.
        file.close()


def _is_at(file: IOBase, path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def resumable(path: Path) -> int:
    """The bytes of a file that broke off; 0 while another upload writes there or is kept."""
    try:
        incoming = path.open("rb")
    except FileNotFoundError:
        return 0
    with incoming:
        try:
            fcntl.flock(incoming, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        return os.fstat(incoming.fileno()).st_size if _is_at(incoming, path) else 0


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Raises StoreTrouble, with its cure, for what the system says of a file."""
    try:
        yield
    except OSError as error:
        cure = "; free some space" if error.errno in _FULL else ""
        raise StoreTrouble(f"the artifact store fails: {error.strerror}{cure}") from error
