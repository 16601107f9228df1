"""Philox4x32-10 once more, number by number in plain Python integers, apart from
ipulse_ops.philox."""

from __future__ import annotations

from typing import List, Tuple


def philox(seed: int, counter: Tuple[int, int, int, int]) -> List[int]:
    """Four words."""
    word = 2**32
    a, b, c, d = counter
    low, high = seed % word, seed // word
    for number in range(10):
        if number > 0:
            low, high = (low + 0x9E3779B9) % word, (high + 0xBB67AE85) % word
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (
            second // word ^ b ^ low,
            second % word,
            first // word ^ d ^ high,
            first % word,
        )
    return [a, b, c, d]


def random_below(seed: int, counter: Tuple[int, int, int, int], limit: int) -> int:
    """0 to limit - 1, by the first word."""
    return philox(seed, counter)[0] * limit // 2**32
