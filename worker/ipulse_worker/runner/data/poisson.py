"""Poisson patterns: the class determines the group of channels with a high rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ipulse_core.spec.derived_values import input_channels
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress, divided_by_class
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import PoissonData

DRAWS_AT_ONCE = 2**22  # 32 MiB of float64


def generate(data: PoissonData, progress: LoadProgress) -> Dataset:
    """Generate samples in the order of their classes."""
    binning = Binning(data.steps, input_channels(data))
    samples = data.classes * data.samples_per_class
    at_once = max(1, DRAWS_AT_ONCE // (data.steps * data.channels))
    for label in range(data.classes):
        random = stream(Purpose.DATA, data.seed, label)
        chance = rates(data, label)
        for first in range(0, data.samples_per_class, at_once):
            size = min(at_once, data.samples_per_class - first)
            drawn = random.random_sample((size, data.steps, data.channels)) < chance
            binning.add(*np.nonzero(drawn), samples=size)
            progress(binning.samples, samples)
    return divided_by_class(
        binning, data.classes, data.samples_per_class, data.test_fraction, data.seed
    )


def rates(data: PoissonData, label: int) -> np.ndarray:
    """Return the spike probability per step for a class, float64 `[channels]`."""
    group = np.arange(data.channels) * data.classes // data.channels
    return np.where(group == label, data.high_rate, data.low_rate)
