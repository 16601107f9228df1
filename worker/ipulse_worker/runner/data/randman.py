"""Randman: smooth random manifolds as spike times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple

import numpy as np

from ipulse_core.spec.derived_values import frequencies, input_channels
from ipulse_core.spec.time_rounding import FLOAT64_ERROR
from ipulse_ops.exact_math import exp, log, sine_of_turns
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress, divided_by_class
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import RandmanData

SINES_AT_ONCE = 2**22  # 32 MiB of float64


def generate(data: RandmanData, progress: LoadProgress) -> Dataset:
    """Generate samples in the order of their classes."""
    binning = Binning(data.steps, input_channels(data))
    size = data.samples_per_class
    channel = np.tile(np.arange(data.units), size)
    sample = np.repeat(np.arange(size), data.units)
    for label in range(data.classes):
        points = stream(Purpose.DATA, data.seed, label).random_sample((size, data.dimensions))
        steps = [
            spike_steps(manifold(points, data, (data.seed, label, 1 + spike)), data).ravel()
            for spike in range(data.spikes)
        ]
        events = np.tile(sample, data.spikes), np.concatenate(steps)
        binning.add(*events, np.tile(channel, data.spikes), samples=size)
        progress((1 + label) * size, data.classes * size)
    return divided_by_class(binning, data.classes, size, data.test_fraction, data.seed)


def manifold(points: np.ndarray, data: RandmanData, key: Tuple[int, ...]) -> np.ndarray:
    """Return a manifold's coordinates, float64 `[samples, units]`, at points.

    Points are `[samples, dimensions]`.

    A unit's coordinate is the product over the dimensions of
    sum over i of A_i (i + 1)^-smoothness sin(2 pi (i x f_i + p_i)), i = 0 ... frequencies - 1,
    with A, f and p uniform in [0, 1) and A_0 = 0.
    """
    order = np.arange(frequencies(data))
    shape = (data.units, data.dimensions, frequencies(data), 3)
    amplitude, factor, phase = np.moveaxis(stream(Purpose.DATA, *key).random_sample(shape), -1, 0)
    amplitude = amplitude * (order > 0) * exp(-data.smoothness * log(order + 1.0))
    coordinates = np.ones((len(points), data.units))
    at_once = max(1, SINES_AT_ONCE // frequencies(data))
    for unit in range(data.units):
        for dimension in range(data.dimensions):
            place = unit, dimension
            for first in range(0, len(points), at_once):
                x = points[first : first + at_once, dimension, None]
                sines = sine_of_turns(order * x * factor[place] + phase[place])
                # Added in order, which NumPy's sum does not promise.
                added = np.cumsum(sines * amplitude[place], axis=1)[:, -1]
                coordinates[first : first + at_once, unit] *= added
    return coordinates


def spike_steps(coordinates: np.ndarray, data: RandmanData) -> np.ndarray:
    """Scale each unit's times to [0, 1) and divide them into the used steps, int64."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    # A unit with a constant function spikes in the first step.
    times = (coordinates - low) / np.where(high > low, high - low, 1.0)
    steps = np.floor(times * (data.used_steps * data.steps)).astype(np.int64)
    # 0.07 * 100 is a little more than the 7 steps that are meant.
    last = max(0, int(np.ceil(data.used_steps * data.steps * (1.0 - FLOAT64_ERROR))) - 1)
    in_range: np.ndarray = np.minimum(steps, last)  # the latest time is 1 itself
    return in_range
