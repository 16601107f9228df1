"""When the spikes of an encoding come."""

from __future__ import annotations

import math
from typing import Any

from ipulse_core.spec.time_rounding import last_step

FARTHEST = 2**31  # step of every time that is later


def earliest_step(encoding: Any, step_ms: float) -> int:
    """Returns the earliest step in which a value in [0, 1] can have a spike, from 0.

    Only the spike of log_latency takes a time that does not depend on the number of steps.
    """
    if encoding.kind != "log_latency":
        return 0
    brightest_ms = -encoding.tau_eff_ms * math.log1p(-encoding.threshold)
    if brightest_ms > FARTHEST * step_ms:
        return FARTHEST
    return last_step(brightest_ms, step_ms, "float64")
