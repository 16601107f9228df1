"""Mean, deviation and 95 % interval of the results of replicas."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ipulse_core.statistics import two_sided_p

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """Figures of replicas; a single one has neither a deviation nor an interval."""

    n: int
    mean: float
    minimum: float
    maximum: float
    deviation: float | None  # of the sample, with n - 1
    interval: float | None  # half the width of the 95 % interval of the mean

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Returns the figures of some values, None without values."""
        if not values:
            return None
        n, mean = len(values), statistics.fmean(values)
        deviation = statistics.stdev(values) if n > 1 else None
        interval = None if deviation is None else student_t(n - 1) * deviation / math.sqrt(n)
        return cls(n, mean, min(values), max(values), deviation, interval)


@cache
def student_t(freedom: int) -> float:
    """Returns the value that |t| exceeds with a probability of 5 %, by degrees of freedom."""
    low, high = 1.0, 13.0  # of any number of degrees of freedom
    for _ in range(60):
        middle = (low + high) / 2
        if two_sided_p(middle, freedom) > 1 - CONFIDENCE:
            low = middle
        else:
            high = middle
    return (low + high) / 2
