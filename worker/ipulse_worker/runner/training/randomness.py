"""Random numbers by key: nothing depends on what was drawn before, so nothing need be saved."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

_STATE_WORDS = 624  # that an MT19937 asks it for
# A SeedSequence's constants: word n is hashed with the n-th, then with the one after it.
_HASHES = np.array([0x8B51F9DD, *[0x58F38DED] * _STATE_WORDS], np.uint32).cumprod(dtype=np.uint32)


class Purpose(IntEnum):
    """What the numbers are for; two purposes never share a stream."""

    SUBSET = 1
    SPLIT = 2
    BATCH_ORDER = 3
    WEIGHTS = 4
    DATA = 5
    RATE_CODE = 6
    INPUT_CAPACITY = 7
    SHIFTS = 8


def stream(purpose: Purpose, *key: int) -> np.random.RandomState:
    """A generator that depends on its key alone.

    RandomState, because NumPy promises that its streams stay the same from version to version.
    """
    return np.random.RandomState(np.random.MT19937(_Seeds([int(purpose), *key])))


class _Seeds(np.random.SeedSequence):
    """The same words, hashed all at once: NumPy takes them one by one, and a data set with a stream
    for each sample would mostly wait for that."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        if (n_words, dtype) != (_STATE_WORDS, np.uint32):
            return super().generate_state(n_words, dtype)
        words = self.pool ^ _HASHES[:-1].reshape(-1, len(self.pool))
        words *= _HASHES[1:].reshape(words.shape)
        words ^= words >> 16
        return words.ravel().tolist()  # MT19937 reads them one by one: numbers faster than an array
