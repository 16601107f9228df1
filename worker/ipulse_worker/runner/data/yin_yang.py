"""Yin-Yang: points of a yin-yang sign, sampled by rejection, as spike latencies."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Tuple

import numpy as np

from ipulse_core.spec.derived_values import input_channels
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import Dataset, divided
from ipulse_worker.runner.data.time_steps import step_of

if TYPE_CHECKING:
    from ipulse.spec import YinYangData

RADIUS = 0.5  # of the sign, around (0.5, 0.5)
DOT = 0.1  # radius of the two dots
EYES = (0.75, 0.25)  # x of the dots; their y is 0.5
YANG, YIN, DOTS = range(3)
TRAINING = (5000, 42)  # size and seed
HELD_OUT = {"validation": (1000, 41), "test": (1000, 40)}


def generate(data: YinYangData) -> Dataset:
    """Generate the training points, then the test points."""
    sets = [points(*TRAINING), points(*HELD_OUT[data.judged_on])]
    features = np.concatenate([values for values, _ in sets])
    labels = np.concatenate([classes for _, classes in sets])
    times_ms = data.first_ms + features * data.span_ms
    if data.bias:
        times_ms = np.pad(times_ms, ((0, 0), (0, 1)), constant_values=data.first_ms)
    step = step_of(times_ms, data.step_ms)
    sample, channel = np.indices(step.shape)
    binning = Binning(data.steps, input_channels(data))
    binning.add(sample.ravel(), step.ravel(), channel.ravel(), samples=len(step))
    return divided(binning, labels, np.arange(len(labels)) >= TRAINING[0])


def points(size: int, seed: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return features (x, y, 1 - x, 1 - y) float64 `[size, 4]` and classes int32 `[size]`.

    The order of the random draws is part of the data set: for each sample its class, then pairs of
    coordinates until a point of this class is found.
    """
    random = np.random.RandomState(seed)
    features = np.empty((size, 4))
    classes = np.empty(size, dtype=np.int32)
    for sample in range(size):
        wanted = random.randint(3)
        while True:
            x, y = random.random_sample(2).tolist()
            if hypot(x - RADIUS, y - RADIUS) <= RADIUS and class_of(x, y) == wanted:
                break
        features[sample] = x, y, 1.0 - x, 1.0 - y
        classes[sample] = wanted
    return features, classes


def class_of(x: float, y: float) -> int:
    """Return the class of a point in the sign."""
    right, left = (hypot(x - eye, y - 0.5) for eye in EYES)
    if right < DOT or left < DOT:
        return DOTS
    is_yin = right <= DOT or DOT < left <= RADIUS / 2 or (y > 0.5 and right > RADIUS / 2)
    return YIN if is_yin else YANG
