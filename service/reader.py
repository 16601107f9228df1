"""A stored file on its way out, read and checked in threads and closed by whoever is last at it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

CHUNK_BYTES = 2**20


class Damaged(Exception):
    """What is stored is not what was stored; the connection is cut and the log says so."""


class Reader:
    """The next `left` bytes of a file. With their digest the last chunk comes only if it is right:
    whoever gets all bytes gets the right ones.

    It may be closed at any time and by any thread: one that opens or reads is not waited for, but
    then closes the file itself.
    """

    def __init__(self, opener: Callable[[], BinaryIO], left: int, sha256: str = "") -> None:
        self.left = left
        self._opener = opener
        self._file: BinaryIO | None = None
        self._sha256 = sha256
        self._digest = hashlib.sha256()
        self._turn = threading.Lock()
        self._is_closed = False

    def open(self) -> None:
        """Raises what the opener raises."""
        with self._at_work():
            if not self._is_closed:
                self._file = self._opener()

    def read(self) -> bytes:
        """The next chunk; nothing after the last one, or once closed. Raises Damaged."""
        with self._at_work():
            if self._is_closed or self._file is None or not self.left:
                return b""
            chunk = self._file.read(min(CHUNK_BYTES, self.left))
            self._check(chunk)
            return chunk

    def close(self) -> None:
        self._is_closed = True  # first: who is at work now looks at it afterwards
        if self._turn.acquire(blocking=False):
            try:
                if self._file is not None:
                    self._file.close()
            finally:
                self._turn.release()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        try:
            with self._turn:
                yield
        finally:
            if self._is_closed:
                self.close()

    def _check(self, chunk: bytes) -> None:
        if not chunk:
            raise Damaged("a stored file is shorter than its row says")
        self.left -= len(chunk)
        if self._sha256:
            self._digest.update(chunk)
            if not self.left and self._digest.hexdigest() != self._sha256:
                raise Damaged(f"the file {self._sha256} has other content")
