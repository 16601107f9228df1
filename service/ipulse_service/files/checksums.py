"""Checks stored files as they are read: a SHA-256 of the whole, and a CRC-32 of each block.

The SHA-256 is the name of a file. The checksums of the blocks are kept in memory; with them a part
of a file can be checked, and a damaged block is found before it is sent. They protect against
faults of disks, not against somebody who can write there.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ipulse_core.errors import IPUlseError

BLOCK_BYTES = 2**20


class DamagedFile(IPUlseError):
    """The stored file is damaged: restore it from a backup, or run the job again."""

    code = "damaged_file"


@dataclass(frozen=True)
class CheckedFile:
    """An open file that is read in blocks, and the check that each block must pass."""

    file: BinaryIO
    check: Callable[[bytes], None]  # raises DamagedFile
    skip: int = 0  # bytes of the first block that are read for the check only


def unchecked(_block: bytes) -> None:
    """Accepts every block."""


class Checksums:
    """The checksums of a content that comes in pieces of any size."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._blocks = array("I")  # CRC-32 of each complete block
        self._crc = 0  # of the part of the next block
        self._missing = BLOCK_BYTES  # bytes until the next block is complete

    def update(self, piece: bytes | memoryview) -> None:
        """Adds a piece."""
        self._digest.update(piece)
        rest = memoryview(piece)
        while rest:
            part, rest = rest[: self._missing], rest[self._missing :]
            self._crc = zlib.crc32(part, self._crc)
            self._missing -= len(part)
            if not self._missing:
                self._blocks.append(self._crc)
                self._crc, self._missing = 0, BLOCK_BYTES

    @property
    def sha256(self) -> str:
        """The SHA-256 of all pieces in hexadecimal digits."""
        return self._digest.hexdigest()

    @property
    def blocks(self) -> Sequence[int]:
        """The CRC-32 of each block; the last block may be shorter."""
        incomplete = [self._crc] if self._missing < BLOCK_BYTES else []
        return self._blocks + array("I", incomplete)


class WholeFileCheck:
    """Accepts all blocks but the last, and the last only if the whole file has the digest."""

    def __init__(
        self, sha256: str, size: int, on_verified: Callable[[Checksums], None] | None = None
    ) -> None:
        """Calls `on_verified` with the checksums of an undamaged file."""
        self._sha256 = sha256
        self._left = size
        self._on_verified = on_verified
        self._checksums = Checksums()

    def check(self, block: bytes) -> None:
        """Checks the next block. Raises DamagedFile."""
        self._checksums.update(block)
        self._left -= len(block)
        if self._left <= 0:
            if self._checksums.sha256 != self._sha256:
                raise DamagedFile(f"the content of the stored file {self._sha256} has changed")
            if self._on_verified:
                self._on_verified(self._checksums)


class BlockCheck:
    """Checks each block of a file by itself, beginning at any of them."""

    def __init__(self, blocks: Sequence[int], first: int) -> None:
        self._blocks = blocks
        self._next = first

    def check(self, block: bytes) -> None:
        """Checks the next block. Raises DamagedFile."""
        if zlib.crc32(block) != self._blocks[self._next]:
            raise DamagedFile(f"block {self._next} of a stored file has changed")
        self._next += 1
