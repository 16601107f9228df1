"""Frozen noise: templates of Poisson spikes, and samples that repeat them with jitter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple

import numpy as np

from ipulse_core.spec.derived_values import input_channels, spike_probability
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress, divided_by_class
from ipulse_worker.runner.data.time_steps import step_of
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import FrozenNoiseData

SPIKES_AT_ONCE = 2**20  # of whole samples; a longer sample is added alone


def generate(data: FrozenNoiseData, progress: LoadProgress) -> Dataset:
    """Generate samples in the order of their classes.

    Sample s of a class repeats template s modulo the number of templates.
    """
    binning = Binning(data.steps, input_channels(data))
    samples = data.classes * data.samples_per_class
    for label in range(data.classes):
        # Times have a stream of their own, because the number of draws depends on the spikes.
        jitter = stream(Purpose.DATA, data.seed, label, 0)
        frozen = [
            template(data, label, number)
            for number in range(min(data.templates, data.samples_per_class))
        ]
        longest = max(len(step) for step, _ in frozen)
        at_once = max(1, SPIKES_AT_ONCE // max(1, longest))
        for first in range(0, data.samples_per_class, at_once):
            size = min(at_once, data.samples_per_class - first)
            chosen = [frozen[at % len(frozen)] for at in range(first, first + size)]
            step, channel = (np.concatenate(parts) for parts in zip(*chosen))
            sample = np.repeat(np.arange(size), [len(steps) for steps, _ in chosen])
            # A template's spike is in the middle of its step.
            shift_ms = data.jitter_ms * jitter.standard_normal(len(step))
            moved = step_of((step + 0.5) * data.step_ms + shift_ms, data.step_ms)
            binning.add(sample, moved, channel, samples=size)
            progress(binning.samples, samples)
    return divided_by_class(
        binning, data.classes, data.samples_per_class, data.test_fraction, data.seed
    )


def template(data: FrozenNoiseData, label: int, number: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return steps and channels, int64 `[spikes]`, of one frozen pattern."""
    random = stream(Purpose.DATA, data.seed, label, 1 + number)
    drawn = random.random_sample((data.steps, data.channels)) < spike_probability(data)
    step, channel = np.nonzero(drawn)
    return step, channel
