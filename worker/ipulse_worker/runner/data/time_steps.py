"""Time steps of events: the one place where a time becomes a step.

A time k * step has been rounded to its own type, so it may be a little less than the number that it
stands for. A time that is that close to the next step belongs to it.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ipulse_core.spec.time_rounding import INTEGER_ERROR, relative_error
from ipulse_worker.runner.data.dataset import DataInvalid

FARTHEST = 2.0**31  # step of every time that is later


def step_of(
    time: np.ndarray, step: float, steps: Optional[int] = None, *, is_measured: bool = False
) -> np.ndarray:
    """Return the step of each time, int64: the greatest k with k * step <= time.

    Times that are k * step except for rounding are in step k: for float64 and float32 times and for
    integers for every k up to 10,000, for float16 times wherever there is only one such k.

    Args:
        time: finite times of any integer or floating type.
        step: duration of a step in the unit of the times.
        steps: number of time steps. Only times within them must be exact.
        is_measured: float16 times were rounded once. Otherwise they may also be products of the
            rounded step.

    Returns:
        Steps; those out of range become -1 or 2^31.

    Raises:
        DataInvalid: the step of a float16 time cannot be recovered.
    """
    time = np.asarray(time)
    with np.errstate(over="ignore"):
        position = np.divide(time, step, dtype=np.float64)
        if time.dtype == np.float16:
            position += _half_precision_error(time, step, position, steps, is_measured)
        else:
            error = relative_error(time.dtype.name)
            position *= 1.0 + error
            position += error
    # Clipped before the cast, as a quotient may be larger than any integer.
    found: np.ndarray = np.clip(np.floor(position), -1.0, FARTHEST).astype(np.int64)
    return found


def _half_precision_error(
    time: np.ndarray,
    step: float,
    position: np.ndarray,
    steps: Optional[int],
    is_measured: bool,
) -> np.ndarray:
    """Return by how many steps a float16 time may be too early; raise where that is too many."""
    half = np.spacing(np.abs(time)).astype(np.float64) / 2.0
    if is_measured:
        error: np.ndarray = half / step
    else:
        # A time within `half` of a multiple of the step itself, or of the rounded step.
        with np.errstate(over="ignore", under="ignore"):
            rounded = float(np.float16(step))
        if rounded == 0.0:  # every product is 0
            error = np.full(time.shape, np.inf)
        elif np.isinf(rounded):  # no product of it is a finite time
            error = half / step
        else:
            error = half / min(step, rounded) + np.abs(position) * abs(1.0 - step / rounded)
    # These bounds are reached, and position and error are rounded, too.
    margin = (np.abs(position) + 1.0) * INTEGER_ERROR
    end = np.inf if steps is None else steps
    # Times of whole steps that are as far apart as float16 numbers are exact.
    is_clear = (error + margin < 0.5) | ((error == 0.5) & (position % 1.0 == 0.0))
    unclear = np.flatnonzero(~is_clear & (position >= 0.0) & (position < end))
    if len(unclear):
        at = unclear[0]
        raise DataInvalid(
            f"the time {float(time.flat[at]):g} has 16 bits, and the next one that 16 bits can "
            f"hold is {2.0 * half.flat[at]:g} later, so that its time step of {step:g} cannot be "
            "recovered: store times as float32, float64 or integers, or use longer or fewer time "
            "steps"
        )
    latest: np.ndarray = np.where(position < 0.0, 0.0, error + margin)
    return latest
