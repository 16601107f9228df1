"""A file that is uploaded to the service, with its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

LARGE_BYTES = 8 * 2**20  # restarting a smaller upload costs less than asking how much arrived
_CHUNK_BYTES = 2**20


class OutgoingFile:
    """The content of an open file; a rename or a replacement of the path does not affect it."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        """Compute the digest of the first `size` bytes.

        Raises OSError, as iterating over the body does, if the file has become shorter.
        """
        self._file = file
        self.size = size
        self.is_resumable = size >= LARGE_BYTES
        digest = hashlib.sha256()
        for chunk in self:
            digest.update(chunk)
        self.sha256 = digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the whole content; it may be iterated again."""
        return self.body(0)

    def body(self, offset: int) -> Iterator[bytes]:
        """Yield the content from `offset` on."""
        while offset < self.size:
            self._file.seek(offset)
            chunk = self._file.read(min(_CHUNK_BYTES, self.size - offset))
            if not chunk:
                raise OSError(
                    "the file became shorter while it was sent: write another version to a new file"
                )
            yield chunk
            offset += len(chunk)
