"""A stored file on its way out, read and checked in threads and closed by whoever is last at it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ipulse_core.blocks import BLOCK_BYTES
from ipulse_service.files.checksums import Checked, DamagedFile


class BlobReader:
    """The next `left` bytes of a file, as far as they pass its check.

    It may be closed at any time and by any thread: one that opens or reads is not waited for, but
    then closes the file itself.
    """

    def __init__(self, opener: Callable[[], Checked], left: int) -> None:
        self.left = left
        self._opener = opener
        self._opened: Checked | None = None
        self._skip = 0
        self._turn = threading.Lock()
        self._is_closed = False

    def begin(self) -> bytes:
        """Opens the file; returns its first chunk. Raises what the opener and `read` raise."""
        with self._at_work():
            if not self._is_closed:
                self._opened = self._opener()
                self._skip = self._opened.skip
        return self.read()

    def read(self) -> bytes:
        """The next chunk; nothing after the last one, or once closed. Raises DamagedFile."""
        with self._at_work():
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
        self._is_closed = True  # first: who is at work now looks at it afterwards
        if self._turn.acquire(blocking=False):
            try:
                if self._opened is not None:
                    self._opened.file.close()
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
