"""Input spikes of many samples, stored as events and converted one batch at a time.

Events take a few bytes per spike; the op's `[time, batch, slots]` arrays of a whole data set would
mostly contain padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Tuple

import numpy as np


@dataclass(frozen=True)
class SpikeTrains:
    """The spikes of samples, sorted by sample, step and channel."""

    channels: int
    counts: np.ndarray  # spikes by sample and step, [samples, steps] of index_type(channels + 1)
    spike_channels: np.ndarray  # [spikes], of index_type(channels)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Int64 `[samples + 1]`: sample s has the spikes from offsets[s] to offsets[s + 1]."""
        return np.append(0, np.cumsum(self.counts.sum(axis=1, dtype=np.int64)))

    @cached_property
    def slots(self) -> int:
        """The greatest number of spikes of a sample in one step, at least 1."""
        return int(self.counts.max(initial=1))

    @property
    def samples(self) -> int:
        """The number of samples."""
        return len(self.counts)

    @property
    def steps(self) -> int:
        """Time steps of every sample."""
        return int(self.counts.shape[1])

    def batch(self, indices: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Return the spikes of the samples at `indices`.

        Ids are `[time, batch, slots]` of index_type(channels), ascending, and 0 after the count.
        Counts are int32 `[time, batch]`.
        """
        counts = self.counts[indices]
        bounds = zip(self.offsets[indices], self.offsets[indices + 1])
        spikes = [self.spike_channels[first:end] for first, end in bounds]
        ids = np.zeros((*counts.shape, self.slots), dtype=index_type(self.channels))
        # A sample's spikes are in the order of its filled slots.
        is_filled = np.arange(self.slots, dtype=counts.dtype) < counts[:, :, np.newaxis]
        ids[is_filled] = np.concatenate([self.spike_channels[:0], *spikes])
        return (
            np.ascontiguousarray(ids.transpose(1, 0, 2)),
            np.ascontiguousarray(counts.T, dtype=np.int32),
        )


def index_type(size: int) -> Any:
    """Return the smallest dtype for indices below `size`."""
    return np.uint16 if size <= 2**16 else np.int32
