"""Input spikes of many samples, kept as events and spread out one batch at a time.

Events are a few bytes per spike; the op's `[time, batch, slots]` arrays of a whole data set
would mostly hold padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple

import numpy as np


@dataclass(frozen=True)
class SpikeTrains:
    """The spikes of `samples` samples, each one's sorted by step and then by channel."""

    steps: int  # time steps of every sample
    channels: int
    spike_steps: np.ndarray  # [spikes], of index_type(steps)
    spike_channels: np.ndarray  # [spikes], of index_type(channels)
    offsets: np.ndarray  # int64 [samples + 1]: sample s owns spikes offsets[s] to offsets[s + 1]
    slots: int  # the most spikes that any sample has in one step, and at least 1

    @property
    def samples(self) -> int:
        return len(self.offsets) - 1

    def batch(self, indices: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Ids `[time, batch, slots]` of index_type(channels), ascending, 0 beyond the count, and
        counts int32 `[time, batch]` of the samples at `indices`."""
        starts = self.offsets[indices]
        lengths = self.offsets[indices + 1] - starts
        before = np.cumsum(lengths) - lengths
        spikes = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
        column = np.repeat(np.arange(len(indices)), lengths)
        step = self.spike_steps[spikes]

        counts = np.zeros((self.steps, len(indices)), dtype=np.int32)
        ids = np.zeros((self.steps, len(indices), self.slots), dtype=index_type(self.channels))
        if len(spikes):
            slot, group, group_sizes = ranks(column * self.steps + step)
            ids[step, column, slot] = self.spike_channels[spikes]
            counts[step[group], column[group]] = group_sizes
        return ids, counts


def index_type(size: int) -> Any:
    """The leanest dtype for indices below `size`."""
    return np.uint16 if size <= 2**16 else np.int32


def ranks(keys: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of sorted keys `[n > 0]`: each one's place among its equals, and where each run of equals
    begins and how long it is."""
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sizes = np.diff(np.append(first, len(keys)))
    return np.arange(len(keys)) - np.repeat(first, sizes), first, sizes
