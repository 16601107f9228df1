"""exp, log and the cosine of float64 numbers from additions, products and quotients alone.

Every CPU and every release of NumPy yields the same bits. NumPy's own functions, and the C
library's, choose code by the CPU. Errors are about one unit in the last place.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG2_E = 1.4426950408889634
TWO_PI = 6.283185307179586


def exp(x: Any) -> np.ndarray:
    """Return e to the power of x, for x of -700 to 700."""
    x = np.asarray(x, np.float64)
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    result: np.ndarray = np.ldexp(_series(r, [1 / factorial(k) for k in range(15)]), n.astype(int))
    return result


def log(x: Any) -> np.ndarray:
    """Return the natural logarithm of positive finite numbers."""
    m, exponent = np.frexp(np.asarray(x, np.float64))
    low = m < 0.7071067811865476
    m, n = np.where(low, 2 * m, m), (exponent - low).astype(np.float64)
    t = (m - 1) / (m + 1)
    odd = _series(t * t, [1 / k for k in range(1, 24, 2)])
    result: np.ndarray = n * LN2_HIGH + (2 * t * odd + n * LN2_LOW)
    return result


def sine_of_turns(turns: Any) -> np.ndarray:
    """Return sin(2 pi turns)."""
    turns = np.asarray(turns, np.float64)
    fraction = turns - np.rint(turns)  # of a turn
    quarter = np.rint(4 * fraction)
    angle = TWO_PI * (fraction - quarter / 4)  # at most an eighth of a turn
    signs = [(-1) ** k for k in range(9)]
    square = angle * angle
    sine = angle * _series(square, [sign / factorial(2 * k + 1) for k, sign in enumerate(signs)])
    cosine = _series(square, [sign / factorial(2 * k) for k, sign in enumerate(signs)])
    result: np.ndarray = np.select(
        [quarter == 0, quarter == 1, quarter == -1], [sine, cosine, -cosine], -sine
    )
    return result


def cosine_of_turns(turns: Any) -> np.ndarray:
    """Return cos(2 pi turns)."""
    return sine_of_turns(np.asarray(turns, np.float64) + 0.25)


def _series(x: np.ndarray, coefficients: Any) -> np.ndarray:
    total = np.full(np.shape(x), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total
