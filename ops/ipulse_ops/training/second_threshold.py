"""How a layer's second threshold changes while it learns.

Below it no gradient flows, so that a layer whose membranes stay under it would never learn: it
starts low and rises over the epochs, and gives way where the gradient set is empty.
"""

from __future__ import annotations

import math

import numpy as np

from ipulse_ops.lif.network import PerNeuron

SHAPES = ("linear", "cosine", "exponential")
EXPONENTIAL_REST = 0.01  # of the way, left before an exponential ramp's last step
RELAXATIONS = 32  # after which the gate is as good as open


def ramp(start: float, end: PerNeuron, shape: str, epoch: int, epochs: int) -> PerNeuron:
    """The second threshold of `epoch`, from 0: `start` in the first, `end` from `epochs` on.

    With p = epoch / epochs, the share of the way from start to end is p of a linear ramp,
    (1 - cos(pi p)) / 2 of a cosine, and 1 - 0.01^p of an exponential one. Where `end` lies below
    `start` it holds from the beginning.

    Raises ValueError for an unknown shape.
    """
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}; got {shape}")
    if epoch >= epochs:
        return end
    passed = epoch / epochs
    share = {
        "linear": passed,
        "cosine": (1 - math.cos(math.pi * passed)) / 2,
        "exponential": 1 - EXPONENTIAL_REST**passed,
    }[shape]
    return _plain(np.minimum(end, start + share * (np.asarray(end) - start)))


def relaxed(second: PerNeuron, threshold: PerNeuron, times: int) -> PerNeuron:
    """The second threshold, its distance from the threshold doubled so many times.

    A distance below 5 % of the threshold counts as that much.
    """
    if times == 0:
        return second
    distance = np.maximum(np.asarray(threshold) - second, 0.05 * np.abs(threshold))
    return _plain(np.asarray(threshold) - distance * 2.0 ** min(times, RELAXATIONS))


def _plain(result: np.ndarray) -> PerNeuron:
    return result if np.ndim(result) else float(result)
