"""Shifts arrays `[time, ...]` in time and fills with zeros."""

from __future__ import annotations

import numpy as np


def later(array: np.ndarray, steps: int) -> np.ndarray:
    """Move the value of step t to step t + steps."""
    return np.concatenate([np.zeros_like(array[:steps]), array[: max(len(array) - steps, 0)]])


def earlier(array: np.ndarray, steps: int) -> np.ndarray:
    """Move the value of step t + steps to step t."""
    return np.concatenate([array[steps:], np.zeros_like(array[:steps])])
