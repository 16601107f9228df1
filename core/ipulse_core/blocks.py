"""The blocks of a file, which are checked one by one. Behind the content of a large file that an
agent sends to the service, the CRC-32 of each of its blocks follows."""

from __future__ import annotations

import struct
from typing import Optional, Sequence

BLOCK_BYTES = 2**20
_CRC_BYTES = 4


def count(size: int) -> int:
    """Of a file of so many bytes; its last block may be shorter."""
    return -(-size // BLOCK_BYTES)


def packed(crcs: Sequence[int]) -> bytes:
    """As they follow a file: each in four bytes, the highest first."""
    return struct.pack(f">{len(crcs)}I", *crcs)


def packed_bytes(size: int) -> int:
    """How many bytes follow a file of so many."""
    return count(size) * _CRC_BYTES


def first_difference(crcs: Sequence[int], followed: bytes) -> Optional[int]:
    """The number of the first block, from 0, that has another CRC-32 than the one that followed."""
    ours = packed(crcs)
    for number in range(len(crcs)):
        place = slice(number * _CRC_BYTES, (number + 1) * _CRC_BYTES)
        if ours[place] != followed[place]:
            return number
    return None
