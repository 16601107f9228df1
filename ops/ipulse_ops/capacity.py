"""Grows the capacity of a layer that dropped spikes."""

from __future__ import annotations

import math

import numpy as np


def next_capacity(
    capacity: int, neurons: int, spike_counts: np.ndarray, dropped: np.ndarray
) -> int:
    """Return the capacity for the next run of a layer; it never decreases.

    spike_counts: int `[..., 2]`, spikes and filled slots, as in a trace.
    dropped: int `[...]`, spikes beyond the capacity.

    Without dropped spikes the capacity stays. Otherwise it grows to the largest of

        n + 4 sqrt(n), where n is the mean number of slots that were filled or missing: the
            standard deviation of independent neurons is about sqrt(n), so that one step in tens
            of thousands overflows;
        the largest number of spikes in a step of a sample, for layers that spike in bursts;
        9/8 of the old capacity, so that a slow increase does not grow it at every run,

    limited to one slot per neuron. Gradient-only neurons without a slot are not counted in n.

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
    """Return the capacity after one that was too small, as `next_capacity` describes.

    mean: mean number of slots that were filled or missing.
    most: largest number of spikes in a step of a sample.
    """
    room = math.ceil(mean + 4 * math.sqrt(mean))
    return min(neurons, max(room, most, math.ceil(capacity * 9 / 8), capacity + 1))
