"""The network and the spikes for which the cost of the Poplar op is counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from ipulse_ops.lif.network import LIF, LeakyReadout, Network

SIZES, STEPS, BATCH = (2312, 1466, 1466, 10), 100, 48
DECAY = 0.95


@dataclass(frozen=True)
class Problem:
    """A network with weights, input spikes and the gradient of the readout."""

    network: Network
    weights: list[np.ndarray]
    ids: np.ndarray
    counts: np.ndarray
    grad_membrane: np.ndarray


def draw(
    sizes: tuple[int, ...], capacity: float, steps: int, batch: int, filled: float = 1
) -> Problem:
    """Draw the problem of a capacity: the same in every process.

    A share `filled` of the input slots is filled. Without reset, spikes would fill that share of
    the slots of the hidden layers. If it is 1, neurons above the second threshold of 0.5 take
    what spikes leave; else there is no second threshold.
    """
    rng = np.random.default_rng(0)
    slots = [max(1, int(size * capacity)) for size in sizes]
    # For a normal membrane, P(u > 1) is the share of spikes; ipulse_ops/training/initialisation.py
    # derives its deviation.
    sigma = 1 / NormalDist().inv_cdf(1 - capacity * filled)
    hidden = tuple(
        LIF(
            n, DECAY, second_threshold=0.5 if filled == 1 else 1.0, capacity=k, gain=1 / (1 - DECAY)
        )
        for n, k in zip(sizes[1:-1], slots[1:-1], strict=True)
    )
    network = Network(sizes[0], hidden, LeakyReadout(sizes[-1], DECAY), delay=1)
    weights = []
    for n_in, n_out in pairwise(sizes):
        deviation = sigma * np.sqrt((1 - DECAY**2) / (n_in * capacity * filled))
        weights.append((rng.standard_normal((n_in, n_out)) * deviation).astype(np.float32))
    order = np.argsort(rng.random((steps, batch, sizes[0]), np.float32), axis=2)
    ids = np.sort(order[..., : slots[0]], axis=2).astype(np.int32)
    counts = np.full((steps, batch), max(1, round(slots[0] * filled)), np.int32)
    grad = rng.standard_normal((steps, batch, sizes[-1])).astype(np.float32)
    return Problem(network, weights, ids, counts, grad)
