"""Arrays of a comparison: in float64, and how far two of them differ."""

from __future__ import annotations

from typing import List, Sequence

import numpy as np


def in_float64(arrays: Sequence[np.ndarray]) -> List[np.ndarray]:
    """Return the arrays with numbers of float64 instead of shorter ones."""
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference over the largest expected value, or NaN."""
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    scale = float(np.max(np.abs(expected.astype(np.float64)))) or 1.0
    return float(np.max(difference)) / scale
