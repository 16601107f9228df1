"""What a network is trained and judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from ipulse_core.errors import Unavailable
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.event_counts import EventCounts
from ipulse_worker.runner.data.spike_trains import SpikeTrains
from ipulse_worker.runner.training.randomness import Purpose, stream

# Told now and then how many of how many samples are there. It may raise, to stop.
Progress = Callable[[int, int], None]


class DataUnavailable(Unavailable):
    """The data set cannot be read on this worker."""

    code = "data_unavailable"


class DataInvalid(DataUnavailable):
    """A file of the data set is not what its format says."""

    code = "data_invalid"


@dataclass(frozen=True)
class Dataset:
    """Spike trains with labels, and which samples are held out."""

    trains: SpikeTrains
    labels: np.ndarray  # int32 [samples]
    training: np.ndarray  # int64: the samples to learn from, ascending
    test: np.ndarray  # int64: the samples held out, ascending
    events: EventCounts  # what the spikes come from, and what was lost
    images: Optional[np.ndarray] = None  # [samples, rows, columns] in [0, 1], if encoded


def divided(
    binning: Binning,
    labels: np.ndarray,
    held_out: np.ndarray,
    images: Optional[np.ndarray] = None,
) -> Dataset:
    """The samples of a binning; `held_out` is bool `[samples]`."""
    return Dataset(
        trains=binning.trains(),
        labels=labels.astype(np.int32),
        training=np.flatnonzero(~held_out),
        test=np.flatnonzero(held_out),
        events=binning.counts,
        images=images,
    )


def hold_out(labels: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Which samples to hold out: bool `[samples]`, the same for the same labels and seed.

    round(fraction * samples) of them, at least one, and of every class its share as nearly as
    whole samples allow (largest remainders; the lower class where two are equal).
    """
    classes, sizes = np.unique(labels, return_counts=True)
    total = max(1, round(fraction * len(labels)))
    shares = sizes * (total / len(labels))
    taken = np.floor(shares).astype(np.int64)
    by_remainder = np.argsort(taken - shares, kind="stable")
    taken[by_remainder[: total - taken.sum()]] += 1

    shuffle = stream(Purpose.SPLIT, seed)
    held_out = np.zeros(len(labels), dtype=bool)
    for label, count in zip(classes, taken):
        members = np.flatnonzero(labels == label)
        held_out[shuffle.permutation(members)[:count]] = True
    return held_out


def subset(samples: int, most: Optional[int], seed: int) -> np.ndarray:
    """The numbers, ascending, of the samples to use: all, or `most` drawn by the seed."""
    if most is None or most >= samples:
        return np.arange(samples)
    return np.sort(stream(Purpose.SUBSET, seed).permutation(samples)[:most])
