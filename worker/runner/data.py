"""What a network is trained and judged on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipulse.errors import Unavailable

from .randomness import Purpose, stream
from .spike_trains import SpikeTrains


class DataUnavailable(Unavailable):
    """The data set cannot be read on this worker."""

    code = "data_unavailable"


@dataclass(frozen=True)
class Dataset:
    """Spike trains with labels, and which samples are held out."""

    trains: SpikeTrains
    labels: np.ndarray  # int32 [samples]
    images: np.ndarray  # float64 [samples, rows, columns] in [0, 1]: what was encoded
    training: np.ndarray  # int64: the samples to learn from, ascending
    test: np.ndarray  # int64: the samples held out, ascending


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
