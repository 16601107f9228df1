"""A file on its way to the service. A large one is hashed as it is sent, not before."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import BinaryIO

CHUNK_BYTES = 2**20
LARGE_BYTES = 8 * 2**20  # a smaller one costs less to begin again than to ask about


class Outgoing:
    """The content of an open file, whatever its name is given to meanwhile."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self._digest = hashlib.sha256()
        self._hashed = 0  # bytes; what is sent again is not hashed again
        self.is_large = size >= LARGE_BYTES
        self.announced: dict[str, str | int] = {"size": size}
        if self.is_large:
            self.announced["upload"] = secrets.token_hex(32)
        else:
            for _ in self._content(0):
                pass
            self.announced["sha256"] = self._digest.hexdigest()

    def length(self, offset: int) -> int:
        """Of the body that goes on at a byte of the content."""
        return self.size - offset + (2 * self._digest.digest_size if self.is_large else 0)

    def body(self, offset: int) -> Iterator[bytes]:
        """The content from a byte on; then its digest, where that was not announced."""
        yield from self._content(offset)
        if self.is_large:
            yield self._digest.hexdigest().encode()

    def _content(self, offset: int) -> Iterator[bytes]:
        for begin in range(offset, self.size, CHUNK_BYTES):
            end = min(begin + CHUNK_BYTES, self.size)
            self._file.seek(begin)
            chunk = self._file.read(end - begin)
            self._digest.update(memoryview(chunk)[max(0, self._hashed - begin) :])
            self._hashed = max(self._hashed, end)
            yield chunk
