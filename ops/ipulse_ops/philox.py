"""Philox4x32-10, the counter-based random numbers of every device.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). Four random
words are a pure function of four words of counter and two of key, in 32-bit integer arithmetic
only, so that NumPy, C++ and IPU codelets yield the same bits in any order.

The key is the seed, low word first. The last word of the counter names the use of the numbers, so
that two uses of one seed never share them; the first three words are the position.
"""

from __future__ import annotations

from typing import Any, Tuple, Union

import numpy as np

# The last word of the counter, by use; the comments name the first three words.
CYCLIC_OFFSET = 0  # ipulse_ops.reference.select_spikes: step, layer, sample
RANDOM_SPIKES = 1  # ipulse_ops.reference.random_spikes: step, neuron // 4, sample
DROPOUT = 2  # ipulse_ops.reference.dropout: layer, neuron // 4, sample
DELAYS = 3  # ipulse_ops.lif.connection_delays: layer, sender, neuron // 4

ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF

Words = Union[int, np.ndarray]


def philox4x32(counter: Tuple[Words, Words, Words, Words], key: Tuple[int, int]) -> np.ndarray:
    """Return four random words per counter, uint32 `[..., 4]`.

    counter: four arrays or numbers from 0 to 2^32 - 1, which broadcast to `[...]`.
    key: two words from 0 to 2^32 - 1.
    """
    words = np.broadcast_arrays(*(np.asarray(word, dtype=np.uint64) for word in counter))
    c0, c1, c2, c3 = words
    k0, k1 = key
    mask, half = np.uint64(_WORD), np.uint64(32)
    for _ in range(ROUNDS):
        # Both factors are below 2^32: 64 bits hold the product.
        product0 = c0 * np.uint64(_MULTIPLIERS[0])
        product1 = c2 * np.uint64(_MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (product1 >> half) ^ c1 ^ np.uint64(k0),
            product1 & mask,
            (product0 >> half) ^ c3 ^ np.uint64(k1),
            product0 & mask,
        )
        k0, k1 = (k0 + _KEY_STEPS[0]) & _WORD, (k1 + _KEY_STEPS[1]) & _WORD
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def key_of(seed: Any) -> Tuple[int, int]:
    """Return the key of a seed. Raises ValueError unless it is an integer of 0 to 2^64 - 1."""
    if not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise ValueError(f"seed must be 0 to 2^64 - 1; got {seed!r}")
    seed = int(seed)
    return seed & _WORD, seed >> 32


def below(words: np.ndarray, limit: int) -> np.ndarray:
    """Return random int64 of 0 to limit - 1: the high word of `word * limit`.

    limit: 1 to 2^32. The probabilities of two numbers differ by a factor of at most
        1 + limit / 2^32.
    """
    product = words.astype(np.uint64) * np.uint64(limit)
    return (product >> np.uint64(32)).astype(np.int64)
