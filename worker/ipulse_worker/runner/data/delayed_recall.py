"""Delayed recall: two cues with a pause between them; their sum is the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ipulse_core.spec.derived_values import input_channels
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress, divided_by_class
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import DelayedRecallData

DRAWS_AT_ONCE = 2**22  # 32 MiB of float64


def generate(data: DelayedRecallData, progress: LoadProgress) -> Dataset:
    """Generate samples in the order of their classes."""
    channels = input_channels(data)
    binning = Binning(data.steps, channels)
    samples = data.classes * data.samples_per_class
    at_once = max(1, DRAWS_AT_ONCE // (data.steps * channels))
    for label in range(data.classes):
        random = stream(Purpose.DATA, data.seed, label)
        for first in range(0, data.samples_per_class, at_once):
            size = min(at_once, data.samples_per_class - first)
            cues = random.randint(data.classes, size=size)
            drawn = random.random_sample((size, data.steps, channels))
            binning.add(*np.nonzero(drawn < rates(data, label, cues)), samples=size)
            progress(binning.samples, samples)
    return divided_by_class(
        binning, data.classes, data.samples_per_class, data.test_fraction, data.seed
    )


def rates(data: DelayedRecallData, label: int, cues: np.ndarray) -> np.ndarray:
    """Return the spike probability per step, float64 `[samples, time, channels]`.

    Args:
        data: the data set.
        label: of the samples.
        cues: the first cue of each sample, int `[samples]`.
    """
    found = np.full((len(cues), data.steps, input_channels(data)), data.noise)
    group = np.arange(input_channels(data)) // data.units
    first, last = slice(None, data.cue_steps), slice(-data.cue_steps, None)
    for shown, cue in ((first, cues), (last, (label - cues) % data.classes)):
        is_cue = group == cue[:, np.newaxis]
        found[:, shown] = np.where(is_cue, data.rate, data.noise)[:, np.newaxis]
    return found
