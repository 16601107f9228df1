"""Compares gradients with second thresholds with exact ones, after a training."""

from __future__ import annotations

from dataclasses import replace
from typing import List, NamedTuple, Optional

import numpy as np

from ipulse_worker.runner.training.loop import Training

BELOW_EVERY_MEMBRANE = -1e30


class GradientComparison(NamedTuple):
    """How the gradient of one array differs from the exact one."""

    name: str  # of the array
    cosine: float  # 1 for equal directions
    length: float  # relative to that of the exact gradient


def compare_gradients(training: Training) -> Optional[List[GradientComparison]]:
    """Compare the gradients of the first batch.

    None without second thresholds, where they cannot be changed, and on emulated IPUs and IPUs,
    where a step takes long.
    """
    model, limits = training.model, training.model.limits
    seconds = limits.second_thresholds
    if training.spec.device.kind != "cpu" or all(each is None for each in seconds):
        return None
    if any(
        second is not None and variable is None
        for second, variable in zip(seconds, model.net.second_thresholds)
    ):
        return None
    samples = training.dataset.training[: training.spec.training.batch_size]
    ids, counts = training.dataset.trains.batch(samples)
    labels = training.dataset.wanted(samples)
    exact = tuple(each if each is None else BELOW_EVERY_MEMBRANE for each in seconds)
    found = []
    try:
        for each in (seconds, exact):
            model.adapt(replace(limits, second_thresholds=each))
            result = model.compute_gradients(ids, counts, labels, training.step)
            found.append([np.ravel(array).astype(np.float64) for array in result.gradients])
    finally:
        model.adapt(limits)
    compared = []
    for name, gradient, whole in zip(model.learned_names, *found):
        ours, exact_length = np.linalg.norm(gradient), np.linalg.norm(whole)
        if ours > 0 and exact_length > 0:
            cosine = float(gradient @ whole / (ours * exact_length))
            compared.append(GradientComparison(name, cosine, float(ours / exact_length)))
    return compared
