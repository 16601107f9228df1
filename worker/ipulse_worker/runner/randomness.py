"""Random streams by key: no stream depends on earlier draws, so checkpoints store no state."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

_STATE_WORDS = 624  # the words of an MT19937's state
# Constants of a SeedSequence: word n is hashed with constant n, then with constant n + 1.
_HASHES = np.array([0x8B51F9DD, *[0x58F38DED] * _STATE_WORDS], np.uint32).cumprod(dtype=np.uint32)


class Purpose(IntEnum):
    """The use of a random stream; two purposes never share a stream."""

    SUBSET = 1
    SPLIT = 2
    BATCH_ORDER = 3
    WEIGHTS = 4
    DATA = 5
    RATE_CODE = 6
    INPUT_CAPACITY = 7
    SHIFTS = 8
    AUGMENTATION = 9
    VALIDATION = 10
    OP_WEIGHTS = 11


def stream(purpose: Purpose, *key: int) -> np.random.RandomState:
    """Return a generator that depends only on its key.

    It is a RandomState because NumPy guarantees equal streams of this class in all versions.
    """
    return np.random.RandomState(np.random.MT19937(_Seeds([int(purpose), *key])))


class _Seeds(np.random.SeedSequence):
    """A seed sequence with NumPy's values, computed for the whole array at once.

    NumPy computes them one by one, which would take most of the time to load a data set with a
    stream per sample.
    """

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        if (n_words, dtype) != (_STATE_WORDS, np.uint32):
            return super().generate_state(n_words, dtype)
        words = self.pool ^ _HASHES[:-1].reshape(-1, len(self.pool))
        words *= _HASHES[1:].reshape(words.shape)
        words ^= words >> 16
        return words.ravel().tolist()  # MT19937 reads a list faster than an array


def step_seed(seed: int, step: int) -> int:
    """Return the seed of a step, which has its own masks of dropout and offsets of `cyclic`."""
    return (seed << 32) + step
