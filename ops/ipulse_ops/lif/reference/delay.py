"""Arrays `[time, ...]` moved in time, zeros where nothing is known."""

from __future__ import annotations

import numpy as np


def later(array: np.ndarray, steps: int) -> np.ndarray:
    """What was at step t is at step t + steps."""
    return np.concatenate([np.zeros_like(array[:steps]), array[: max(len(array) - steps, 0)]])


def earlier(array: np.ndarray, steps: int) -> np.ndarray:
    """What was at step t + steps is at step t."""
    return np.concatenate([array[steps:], np.zeros_like(array[:steps])])
