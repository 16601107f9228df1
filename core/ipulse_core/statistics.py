"""Student's t: Welch's test of equal means, and Holm's correction for several tests.

Client and service use it without SciPy, which would be by far their largest dependency.
"""

from __future__ import annotations

import math
from typing import List, NamedTuple, Optional, Sequence

_STEPS, _TINY = 300, 1e-300


class Sample(NamedTuple):
    """The mean and the standard deviation of some values."""

    mean: float
    sd: Optional[float]  # None for a single value
    n: int


def welch(first: Sample, second: Sample) -> Optional[float]:
    """Returns the two-sided p-value of equal means; None if one of them has a single value.

    The variances may differ. Without any variance p is 1 for equal means, else 0.
    """
    if first.sd is None or second.sd is None or min(first.n, second.n) < 2:
        return None
    shares = [first.sd**2 / first.n, second.sd**2 / second.n]
    if not sum(shares):
        return float(first.mean == second.mean)
    freedom = sum(shares) ** 2 / (shares[0] ** 2 / (first.n - 1) + shares[1] ** 2 / (second.n - 1))
    t = (first.mean - second.mean) / math.sqrt(sum(shares))
    return two_sided_p(t, freedom)


def two_sided_p(t: float, freedom: float) -> float:
    """Returns the probability that |t| of Student's distribution is greater."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def holm(values: Sequence[Optional[float]]) -> List[Optional[float]]:
    """Returns p-values that are corrected for their number; None stays and is not counted."""
    order = sorted((p, at) for at, p in enumerate(values) if p is not None)
    found: List[Optional[float]] = [None] * len(values)
    most = 0.0
    for rank, (p, at) in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * p))
        found[at] = most
    return found


class Tests(NamedTuple):
    """Welch's tests of samples against the one with the best mean."""

    best: Optional[int]  # its place; None: there is no sample
    p: List[Optional[float]]  # None: the best one, no sample, or a single value
    corrected: List[Optional[float]]  # by Holm, for the number of tests


def against_best(samples: Sequence[Optional[Sample]], is_less_better: bool) -> Tests:
    """Tests whether the means of samples differ from the best mean; None is no sample."""
    sign = 1 if is_less_better else -1
    known = [(sign * sample.mean, at) for at, sample in enumerate(samples) if sample is not None]
    if not known:
        return Tests(None, [None] * len(samples), [None] * len(samples))
    best = min(known)[1]
    top = samples[best]
    p = [
        None if sample is None or top is None or at == best else welch(sample, top)
        for at, sample in enumerate(samples)
    ]
    return Tests(best, p, holm(p))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Returns the regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges on the other side
        return 1 - _incomplete_beta(b, a, 1 - x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            change = c * d
            fraction *= change
        if abs(change - 1) < 1e-15:
            break
    return front * fraction


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
