from __future__ import annotations

import pytest

from ipulse_core import blocks
from ipulse_core.blocks import BLOCK_BYTES

CRCS = [0, 1, 2**32 - 1]


@pytest.mark.parametrize(
    ("size", "count"),
    [(0, 0), (1, 1), (BLOCK_BYTES, 1), (BLOCK_BYTES + 1, 2), (2**50, 2**30)],
)
def test_the_last_block_may_be_shorter(size: int, count: int) -> None:
    assert blocks.count(size) == count


def test_what_follows_a_file_is_as_long_as_its_size_says() -> None:
    assert blocks.packed(CRCS) == bytes.fromhex("00000000 00000001 ffffffff")
    assert len(blocks.packed(CRCS)) == blocks.packed_bytes(3 * BLOCK_BYTES)


def test_the_first_difference_is_told_and_no_later_one() -> None:
    assert blocks.first_difference(CRCS, blocks.packed(CRCS)) is None
    assert blocks.first_difference(CRCS, blocks.packed([0, 7, 7])) == 1
