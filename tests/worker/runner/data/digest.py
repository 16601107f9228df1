"""A data set in one line of hexadecimal digits, the same whatever types its arrays have."""

from __future__ import annotations

import hashlib

import numpy as np

from ipulse_worker.runner.data import Dataset


def digest(dataset: Dataset) -> str:
    """Return a digest of all spikes, labels and the split, which are integers.

    What they come from is float arithmetic, whose last bit differs from NumPy to NumPy; a spike
    would have to lie within that of the border between two steps to be moved by it.
    """
    trains = dataset.trains
    sha256 = hashlib.sha256()
    steps = np.tile(np.arange(trains.steps), trains.samples)
    for array in (
        np.repeat(steps, trains.counts.ravel()),
        trains.spike_channels,
        trains.offsets,
        dataset.labels,
        dataset.training,
        dataset.test,
    ):
        sha256.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return sha256.hexdigest()[:16]
