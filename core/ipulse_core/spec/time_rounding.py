"""The rounding error of a time k * step, by the type of the number that stands for it."""

from __future__ import annotations

import math

# The greatest relative errors. Integers are exact, but the step is a float64. float64 and float32
# leave room for a few operations, as a change of units or a running sum; float16 for a product of
# the rounded step, (1 + 2^-11) / (1 - 2^-11) of the exact one at most.
INTEGER_ERROR = 2.0**-50
FLOAT64_ERROR = 2.0**-40
FLOAT32_ERROR = 2.0**-22
FLOAT16_ERROR = 2.0**-10 + 2.0**-20


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
