"""What tells that a stored file is what was stored: its SHA-256, and a CRC-32 of each block.

The one is a file's name. The other takes a fraction of the time, and tells of a damaged block
before that is sent; it guards against faults of disks and lines, not against who may write there.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from isal.isal_zlib import crc32

from ipulse_core.blocks import BLOCK_BYTES
from ipulse_core.errors import IPUlseError


class DamagedFile(IPUlseError):
    """The stored file is not what was stored: it must come from a backup, or the job run again."""

    code = "damaged_file"


@dataclass(frozen=True)
class Checked:
    """An open file, read in blocks; each has to pass before anybody gets it."""

    file: BinaryIO
    check: Callable[[bytes], None]  # raises DamagedFile
    skip: int = 0  # bytes of the first block that are read for the check only


def unchecked(_block: bytes) -> None:
    """All pass."""


class Checksums:
    """Of a content that comes in pieces of any size."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._blocks = array("I")  # those that are complete
        self._crc = 0  # of the next one so far
        self._left = BLOCK_BYTES  # of it

    def update(self, piece: bytes) -> None:
        self.hash(piece)
        self.divide(piece)

    def hash(self, piece: bytes | memoryview) -> None:
        """The digest's part of an update; another thread may be at the blocks meanwhile."""
        self._digest.update(piece)

    def divide(self, piece: bytes) -> None:
        """The blocks' part of an update."""
        for begin in range(0, len(piece), BLOCK_BYTES):
            self._add(memoryview(piece)[begin : begin + BLOCK_BYTES])

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def blocks(self) -> Sequence[int]:
        """The CRC-32 of each block; the last may be shorter."""
        begun = [self._crc] if self._left < BLOCK_BYTES else []
        return self._blocks + array("I", begun)

    def _add(self, piece: memoryview) -> None:
        """At most a block."""
        head, rest = piece[: self._left], piece[self._left :]
        self._crc = crc32(head, self._crc)
        self._left -= len(head)
        if not self._left:
            self._blocks.append(self._crc)
            self._crc = crc32(rest)
            self._left = BLOCK_BYTES - len(rest)


class WholeFile:
    """Lets all blocks pass but the last, and that one only if all of them have the digest."""

    def __init__(
        self, sha256: str, size: int, learn: Callable[[Checksums], None] | None = None
    ) -> None:
        """`learn` hears the checksums of a file that is right."""
        self._sha256 = sha256
        self._left = size
        self._learn = learn
        self._checksums = Checksums()

    def check(self, block: bytes) -> None:
        self._checksums.update(block)
        self._left -= len(block)
        if self._left <= 0:
            if self._checksums.sha256 != self._sha256:
                raise DamagedFile(f"the stored file {self._sha256} has other content")
            if self._learn:
                self._learn(self._checksums)


class Blocks:
    """Lets a file's blocks pass, from one of them on, each for itself."""

    def __init__(self, blocks: Sequence[int], first: int) -> None:
        self._blocks = blocks
        self._next = first

    def check(self, block: bytes) -> None:
        if crc32(block) != self._blocks[self._next]:
            raise DamagedFile(f"block {self._next} of a stored file has other content")
        self._next += 1
