"""Input spikes of many samples, kept as events and spread out one batch at a time.

Events are a few bytes per spike; the op's `[time, batch, slots]` arrays of a whole data set
would mostly hold padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Tuple

import numpy as np


@dataclass(frozen=True)
class SpikeTrains:
    """The spikes of `samples` samples, each one's sorted by step and then by channel."""

    channels: int
    counts: np.ndarray  # spikes by sample and step, [samples, steps] of index_type(channels + 1)
    spike_channels: np.ndarray  # [spikes], of index_type(channels)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Int64 `[samples + 1]`: sample s owns spikes offsets[s] to offsets[s + 1]."""
        return np.append(0, np.cumsum(self.counts.sum(axis=1, dtype=np.int64)))

    @cached_property
    def slots(self) -> int:
        """The most spikes that any sample has in one step, and at least 1."""
        return int(self.counts.max(initial=1))

    @property
    def samples(self) -> int:
        return len(self.counts)

    @property
    def steps(self) -> int:
        """Time steps of every sample."""
        return int(self.counts.shape[1])

    def batch(self, indices: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Ids `[time, batch, slots]` of index_type(channels), ascending, 0 beyond the count, and
        counts int32 `[time, batch]` of the samples at `indices`."""
        counts = self.counts[indices]
        bounds = zip(self.offsets[indices], self.offsets[indices + 1])
        spikes = [self.spike_channels[first:end] for first, end in bounds]
        ids = np.zeros((*counts.shape, self.slots), dtype=index_type(self.channels))
        # A sample's spikes lie in the order of its filled slots.
        is_filled = np.arange(self.slots, dtype=counts.dtype) < counts[:, :, np.newaxis]
        ids[is_filled] = np.concatenate([self.spike_channels[:0], *spikes])
        return (
            np.ascontiguousarray(ids.transpose(1, 0, 2)),
            np.ascontiguousarray(counts.T, dtype=np.int32),
        )


def index_type(size: int) -> Any:
    """The leanest dtype for indices below `size`."""
    return np.uint16 if size <= 2**16 else np.int32
