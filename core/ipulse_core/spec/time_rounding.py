"""Steps of times that were rounded: the error of k * step by type, the first and the last step."""

from __future__ import annotations

import math
from typing import Any

# The greatest relative errors. Integers are exact, but the step is a float64. float64 and float32
# leave room for a few operations, as a change of units or a running sum; float16 for a product of
# the rounded step, (1 + 2^-11) / (1 - 2^-11) of the exact one at most.
INTEGER_ERROR = 2.0**-50
FLOAT64_ERROR = 2.0**-40
FLOAT32_ERROR = 2.0**-22
FLOAT16_ERROR = 2.0**-10 + 2.0**-20

FARTHEST = 2**31  # step of every time that is later


def relative_error(kind: str) -> float:
    """Return the greatest relative error of times of a type, such as `float32`."""
    if kind.startswith(("int", "uint", "bool")):
        return INTEGER_ERROR
    return {"float16": FLOAT16_ERROR, "float32": FLOAT32_ERROR}.get(kind, FLOAT64_ERROR)


def last_step(time: float, step: float, kind: str) -> int:
    """Return the latest step to which the last event of a data set may belong.

    Args:
        time: of the event, 0 or more.
        step: duration of a step in the unit of the time.
        kind: type in which the time is stored, such as `float16`.
    """
    error = relative_error(kind)
    position = time / step
    return math.floor(position + min(position * error, 0.5) + min(error, FLOAT32_ERROR))


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
