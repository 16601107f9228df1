"""The band around emulated cycles in which those of an IPU are expected.

`python -m benchmarks.emulator published` computes the factor from the published kernels.
"""

from __future__ import annotations

import math
from typing import Any, Dict, NamedTuple

FACTOR = 1.4  # either way
SHARE = 0.8  # of the published kernels that are within it, each judged by the others


class Band(NamedTuple):
    """Cycles of an IPU, rounded to two digits."""

    low: float
    high: float

    @property
    def text(self) -> str:
        """The band in words."""
        return f"{self.low:,.0f} to {self.high:,.0f} expected on an IPU ({100 * SHARE:.0f} %)"

    def to_json(self) -> Dict[str, Any]:
        """Return the band as the HTTP API shows it."""
        return {"low": self.low, "high": self.high, "share": SHARE}


def band_of(cycles: float, error: float = 1.0) -> Band:
    """Return the band around emulated cycles.

    error: the factor within which the cycles themselves are known with the probability `SHARE`; it
        is independent of the other one.
    """
    factor = math.exp(math.hypot(math.log(FACTOR), math.log(error)))
    return Band(*(float(f"{edge:.2g}") for edge in (cycles / factor, cycles * factor)))
