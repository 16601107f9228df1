"""How many slots a layer needs, from what it did."""

from __future__ import annotations

import math

import numpy as np


def next_capacity(
    capacity: int, neurons: int, spike_counts: np.ndarray, dropped: np.ndarray
) -> int:
    """The capacity that a layer should have after it did this; never smaller than before.

    spike_counts: int `[..., 2]`, spikes and filled slots, as in a trace.
    dropped: int `[...]`, spikes that found no slot.

    As long as nothing was dropped it stays. Else it grows to the largest of

        n + 4 sqrt(n), with n the mean number of slots that were filled or missing: the spread
            of near-independent neurons is about sqrt(n), so that one step in tens of thousands
            would overflow
        the most spikes of any step and sample, for layers that spike in volleys
        an eighth more than before, so that a layer which creeps up need not grow all the time

    and at most to one slot per neuron. Gradient-only neurons without a slot are not in n, so that
    a layer which was full of spikes may have to grow again; each time it drops, it grows.

    Raises ValueError if the capacity is not 1 to neurons.
    """
    if not 1 <= capacity <= neurons:
        raise ValueError(f"capacity must be 1 to {neurons}; got {capacity}")
    if not np.any(dropped):
        return capacity
    mean = float(np.mean(spike_counts[..., 1] + dropped))
    most = int(np.max(spike_counts[..., 0] + dropped))
    return grown_capacity(capacity, neurons, mean, most)


def grown_capacity(capacity: int, neurons: int, mean: float, most: int) -> int:
    """The capacity after one that was too small, as `next_capacity` says.

    mean: of the slots that were filled or missing; most: of the spikes of any step and sample.
    """
    room = math.ceil(mean + 4 * math.sqrt(mean))
    return min(neurons, max(room, most, math.ceil(capacity * 9 / 8), capacity + 1))
