"""Files by the SHA-256 of their content. No path is ever made from what a client sends."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ipulse.errors import Unavailable

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ABANDONED_SECONDS = 86_400  # an upload this old is nobody's any more


class StoreTrouble(Unavailable):
    """The artifact store cannot read or write now."""

    code = "artifact_store"


class Incoming:
    """A file on its way into the store: written, hashed, and not yet visible."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._hash = hashlib.sha256()
        self._file = path.open("xb")

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Raises StoreTrouble, for instance when the disk is full."""
        with _explained():
            self._file.write(chunk)
        self._hash.update(chunk)
        self.size += len(chunk)

    def sync(self) -> None:
        """Returns once the content is on the disk."""
        with _explained():
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Forgets the file, unless the store has kept it."""
        self._file.close()
        self.path.unlink(missing_ok=True)


class Blobs:
    """A directory of such files, two hundred and fifty-six folders wide."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"  # the same file system, so that a rename is atomic
        self._kept = root / "sha256"

    def prepare(self) -> None:
        """Makes the directories and drops uploads that nobody will finish."""
        with _explained():
            for folder in (self._incoming, self._kept):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in self._incoming.iterdir():
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink(missing_ok=True)

    def is_writable(self) -> bool:
        return os.access(self._incoming, os.W_OK) and os.access(self._kept, os.W_OK)

    def receive(self) -> Incoming:
        """A new file to write to, and to close in the end."""
        with _explained():
            return Incoming(self._incoming / secrets.token_hex(16))

    def keep(self, incoming: Incoming) -> None:
        """Makes a synced file visible under its digest, durably.

        Called in the transaction that adds its row: no `discard` can come between the two.
        """
        path = self._path(incoming.sha256)
        with _explained():
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _sync_directory(self._kept)
            os.replace(incoming.path, path)
            _sync_directory(path.parent)

    def discard(self, sha256: str) -> None:
        """Called in a write transaction that has found no row of this digest."""
        with _explained():
            self._path(sha256).unlink(missing_ok=True)

    def open(self, sha256: str) -> BinaryIO:
        """Raises StoreTrouble when the file is not there or cannot be read."""
        with _explained():
            return self._path(sha256).open("rb", buffering=0)

    def _path(self, sha256: str) -> Path:
        if not _DIGEST.fullmatch(sha256):
            raise ValueError(f"not a SHA-256 digest: {sha256!r}")
        return self._kept / sha256[:2] / sha256


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cure = "; free some space" if error.errno in _FULL else ""
        raise StoreTrouble(f"the artifact store fails: {error.strerror}{cure}") from error


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
