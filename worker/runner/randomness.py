"""Random numbers by key: nothing depends on what was drawn before, so nothing need be saved."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


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
    seeds = np.random.SeedSequence([int(purpose), *key])
    return np.random.RandomState(np.random.MT19937(seeds))
