"""A data set: spike trains, labels and the split into training and test samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Optional, Tuple

import numpy as np

from ipulse_core.data_files.errors import DataInvalid as DataInvalid
from ipulse_core.data_files.errors import DataUnavailable as DataUnavailable
from ipulse_worker.runner.data.event_counts import EventCounts
from ipulse_worker.runner.data.spike_trains import SpikeTrains
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse_worker.runner.data.binning import Binning

# Called regularly with the loaded samples and their total. It may raise to stop.
LoadProgress = Callable[[int, int], None]


class DataTooLarge(MemoryError):
    """The data set needs more memory than there is."""


@dataclass(frozen=True)
class Dataset:
    """Spike trains with labels and a split."""

    trains: SpikeTrains
    labels: np.ndarray  # int32 [samples]
    training: np.ndarray  # int64: training samples, ascending
    test: np.ndarray  # int64: test samples, ascending
    events: EventCounts  # counts of the events behind the spikes
    images: Optional[np.ndarray] = None  # [samples, rows, columns] in [0, 1], if encoded
    # int64: those that are neither trained on nor tested, to choose with, ascending
    validation: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    warnings: Tuple[str, ...] = ()  # what is probably wrong, with a hint
    # float32 [samples, outputs] or [samples, steps, outputs], of a regression
    targets: Optional[np.ndarray] = None

    def wanted(self, samples: np.ndarray) -> np.ndarray:
        """Return what the loss compares with: labels, or the targets of a regression."""
        wanted: np.ndarray = (self.labels if self.targets is None else self.targets)[samples]
        return wanted


def divided(
    binning: Binning,
    labels: np.ndarray,
    held_out: np.ndarray,
    images: Optional[np.ndarray] = None,
    validation: Optional[np.ndarray] = None,
    targets: Optional[np.ndarray] = None,
) -> Dataset:
    """Split the samples of a binning; `held_out` and `validation` are bool `[samples]`."""
    if validation is None:
        validation = np.zeros_like(held_out)
    return Dataset(
        trains=binning.trains(),
        labels=labels.astype(np.int32),
        training=np.flatnonzero(~held_out & ~validation),
        test=np.flatnonzero(held_out),
        events=binning.counts,
        images=images,
        validation=np.flatnonzero(validation),
        targets=targets,
    )


def divided_by_class(
    binning: Binning, classes: int, samples_per_class: int, test_fraction: float, seed: int
) -> Dataset:
    """Split generated samples, which are in the order of their classes."""
    labels = np.repeat(np.arange(classes, dtype=np.int32), samples_per_class)
    return divided(binning, labels, hold_out(labels, test_fraction, seed))


def hold_out(
    labels: np.ndarray, fraction: float, seed: int, purpose: Purpose = Purpose.SPLIT
) -> np.ndarray:
    """Choose the test samples, bool `[samples]`, by labels and seed.

    Their number is round(fraction * samples), at least one. Classes are represented in proportion
    (largest remainders; the lower class first in a tie).
    """
    classes, sizes = np.unique(labels, return_counts=True)
    total = max(1, round(fraction * len(labels)))
    shares = sizes * (total / len(labels))
    taken = np.floor(shares).astype(np.int64)
    by_remainder = np.argsort(taken - shares, kind="stable")
    taken[by_remainder[: total - taken.sum()]] += 1

    shuffle = stream(purpose, seed)
    held_out = np.zeros(len(labels), dtype=bool)
    for label, count in zip(classes, taken):
        members = np.flatnonzero(labels == label)
        held_out[shuffle.permutation(members)[:count]] = True
    return held_out


def subset(samples: int, most: Optional[int], seed: int) -> np.ndarray:
    """Return the numbers of the samples to use, ascending: all, or `most` chosen by the seed."""
    if most is None or most >= samples:
        return np.arange(samples)
    return np.sort(stream(Purpose.SUBSET, seed).permutation(samples)[:most])
