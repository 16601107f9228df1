"""Schedules of a layer's second threshold during training.

No gradient flows to neurons below the second threshold, so that a layer with all membranes below it
never learns. The threshold therefore starts low, rises over the epochs, and is lowered again in
layers where no neuron carries gradient.
"""

from __future__ import annotations

import numpy as np

from ipulse_ops.exact_math import cosine_of_turns, exp, log
from ipulse_ops.lif.neuron_constants import PerNeuron

SHAPES = ("linear", "cosine", "exponential")
EXPONENTIAL_REST = 0.01  # fraction that remains at the end of an exponential ramp
RELAXATIONS = 32  # after these almost all neurons carry gradient


def ramp(start: float, end: PerNeuron, shape: str, epoch: int, epochs: int) -> PerNeuron:
    """Return the second threshold of an epoch: `start` in epoch 0, `end` from `epochs` on.

    With p = epoch / epochs, the fraction of the way from start to end is p for a linear ramp,
    (1 - cos(pi p)) / 2 for a cosine, and 1 - 0.01^p for an exponential one. Where `end` is below
    `start`, the result is `end`.

    Raises ValueError for an unknown shape.
    """
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}; got {shape}")
    if epoch >= epochs:
        return end
    passed = epoch / epochs
    share = {
        "linear": passed,
        "cosine": (1 - float(cosine_of_turns(passed / 2))) / 2,
        "exponential": 1 - float(exp(passed * log(EXPONENTIAL_REST))),
    }[shape]
    return _plain(np.minimum(end, start + share * (np.asarray(end) - start)))


def relaxed(second: PerNeuron, threshold: PerNeuron, times: int) -> PerNeuron:
    """Return the second threshold with its distance from the threshold doubled `times` times.

    The distance is at least 5 % of the threshold before it is doubled.
    """
    if times == 0:
        return second
    distance = np.maximum(np.asarray(threshold) - second, 0.05 * np.abs(threshold))
    return _plain(np.asarray(threshold) - distance * 2.0 ** min(times, RELAXATIONS))


def _plain(result: np.ndarray) -> PerNeuron:
    return result if np.ndim(result) else float(result)
