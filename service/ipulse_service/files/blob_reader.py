"""Reads a stored file in threads, checks each block, and closes it in the thread that ends last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ipulse_service.files.checksums import BLOCK_BYTES, CheckedFile, DamagedFile


class BlobReader:
    """Reads the next `left` bytes of a file, as long as its blocks pass their check.

    Any thread may close it at any time. A thread that is opening or reading then closes the file
    when it is done.
    """

    def __init__(self, opener: Callable[[], CheckedFile], left: int) -> None:
        self.left = left
        self._opener = opener
        self._opened: CheckedFile | None = None
        self._skip = 0
        self._lock = threading.Lock()
        self._is_closed = False

    def begin(self) -> bytes:
        """Opens the file and returns its first chunk. Raises what the opener and `read` raise."""
        with self._reading():
            if not self._is_closed:
                self._opened = self._opener()
                self._skip = self._opened.skip
        return self.read()

    def read(self) -> bytes:
        """Returns the next chunk, empty at the end or once closed. Raises DamagedFile."""
        with self._reading():
            if self._is_closed or self._opened is None or not self.left:
                return b""
            block = self._opened.file.read(BLOCK_BYTES)
            if not block:
                raise DamagedFile("a stored file is shorter than its row says")
            self._opened.check(block)
            chunk = block[self._skip : self._skip + self.left]
            self._skip = 0
            self.left -= len(chunk)
            return chunk

    def close(self) -> None:
        """Closes the file, or has the thread that reads close it."""
        self._is_closed = True  # first: a thread that reads now checks it afterwards
        if self._lock.acquire(blocking=False):
            try:
                if self._opened is not None:
                    self._opened.file.close()
            finally:
                self._lock.release()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        finally:
            if self._is_closed:
                self.close()
