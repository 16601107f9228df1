"""A file on its way to the service. A large one is read once: its checksums follow it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import BinaryIO

from isal.isal_zlib import crc32

from ipulse_core import blocks
from ipulse_core.blocks import BLOCK_BYTES

LARGE_BYTES = 8 * 2**20  # a smaller one costs less to begin again than to ask about


class Outgoing:
    """The content of an open file, whatever its name is given to meanwhile."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        """Raises OSError, as does reading the body, for a file that has become shorter."""
        self._file = file
        self.size = size
        # Of each block as it was read first: the service may have it from then, whatever it has
        # become when it is sent again.
        self._crcs: list[int] = []
        self.is_large = size >= LARGE_BYTES
        self.announced: dict[str, str | int] = {"size": size}
        if self.is_large:
            self.announced["upload"] = secrets.token_hex(32)
        else:
            digest = hashlib.sha256()
            for number in range(blocks.count(size)):
                digest.update(self._block(number))
            self.announced["sha256"] = digest.hexdigest()

    def length(self, offset: int) -> int:
        """Of the body that goes on at a byte of the content."""
        return self.size - offset + (blocks.packed_bytes(self.size) if self.is_large else 0)

    def body(self, offset: int) -> Iterator[bytes]:
        """The content from a byte on; then the checksums, where no digest was announced."""
        first, skip = divmod(offset, BLOCK_BYTES)
        for number in range(first, blocks.count(self.size)):
            block = self._block(number)
            if self.is_large and number == len(self._crcs):
                self._crcs.append(crc32(block))
            yield block[skip:]
            skip = 0
        if self.is_large:
            yield blocks.packed(self._crcs)

    def _block(self, number: int) -> bytes:
        begin = number * BLOCK_BYTES
        end = min(begin + BLOCK_BYTES, self.size)
        self._file.seek(begin)
        block = self._file.read(end - begin)
        if len(block) < end - begin:
            raise OSError(
                "the file became shorter while it was sent: write another version to a new file"
            )
        return block
