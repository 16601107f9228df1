"""Evaluation of a network on held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

from ipulse_core.spec.derived_values import class_count, is_regression
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.results.results import Evaluation
from ipulse_worker.runner.training.metric_accumulator import empty_accumulator
from ipulse_worker.runner.training.output_errors import OutputErrors

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def evaluate(
    model: Model, dataset: Dataset, spec: ExperimentSpec, part: Optional[np.ndarray] = None
) -> Evaluation:
    """Evaluate the model on samples that are not trained on, in batches of the training's size.

    part: the numbers of the samples; by default the test samples.
    """
    evaluated = dataset.test if part is None else part
    metrics = empty_accumulator(spec)
    outputs = class_count(spec.data)
    confusion = errors = None
    if is_regression(spec.training):
        errors = OutputErrors(outputs)
    else:
        confusion = np.zeros((outputs, outputs), dtype=np.int64)
    spikes = np.zeros((len(metrics.names), spec.data.steps))
    dropped = np.zeros_like(spikes)
    input_spikes = np.zeros(spec.data.steps)
    for first in range(0, len(evaluated), spec.training.batch_size):
        samples = evaluated[first : first + spec.training.batch_size]
        ids, counts = dataset.trains.batch(samples)
        wanted = dataset.wanted(samples)
        result = model.evaluate(ids, counts, wanted)
        metrics.add(result.sums)
        if errors is not None:
            errors.add(result.predicted, wanted)
        if confusion is not None:
            np.add.at(confusion, (wanted, result.predicted), 1)
        spikes += result.spikes_by_step
        dropped += result.dropped_by_step
        input_spikes += counts.sum(axis=1)
    return Evaluation(
        metrics=metrics,
        confusion=confusion,
        errors=errors,
        spikes_by_step=spikes / len(evaluated),
        dropped_by_step=dropped / len(evaluated),
        input_spikes_by_step=input_spikes / len(evaluated),
    )
