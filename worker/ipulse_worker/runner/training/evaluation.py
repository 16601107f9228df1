"""Evaluation of a network on test samples."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

import numpy as np

from ipulse_core.spec.derived_values import class_count, is_regression
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator, empty_accumulator
from ipulse_worker.runner.training.output_errors import OutputErrors
from ipulse_worker.runner.training.synaptic_operations import OperationCounter, uncounted

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass(frozen=True)
class Evaluation:
    """The evaluation on the test samples."""

    metrics: MetricAccumulator
    confusion: Optional[np.ndarray]  # int64 [classes, classes]: true, predicted
    # Means per sample, float64 [spiking layers, time].
    spikes_by_step: np.ndarray
    dropped_by_step: np.ndarray
    input_spikes_by_step: np.ndarray  # float64 [time]: mean per sample
    operations: Optional[OperationCounter] = None  # if they were asked for and can be counted
    seconds: float = 0.0  # in the network, for all samples
    errors: Optional[OutputErrors] = None  # of a regression, which has no confusion matrix

    @property
    def dropped_spikes(self) -> int:
        """Spikes that the capacities dropped, of all layers and samples."""
        return int(self.metrics.dropped.sum())


def evaluate(
    model: Model,
    dataset: Dataset,
    spec: ExperimentSpec,
    part: Optional[np.ndarray] = None,
    *,
    counts_operations: bool = False,
) -> Evaluation:
    """Evaluate the model on samples that are not trained on, in batches of the training's size.

    part: the numbers of the samples; by default the test samples.
    counts_operations: whether the spikes that arrive at each connection are counted, too.
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
    counter = OperationCounter(spec) if counts_operations and not uncounted(spec) else None
    seconds = 0.0
    for first in range(0, len(evaluated), spec.training.batch_size):
        samples = evaluated[first : first + spec.training.batch_size]
        ids, counts = dataset.trains.batch(samples)
        wanted = dataset.wanted(samples)
        begun = time.perf_counter()
        result = model.evaluate(ids, counts, wanted)
        seconds += time.perf_counter() - begun
        if result.lists is None:
            counter = None
        if counter is not None and result.lists is not None:
            counter.add([(ids, counts), *result.lists])
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
        operations=counter,
        seconds=seconds,
    )
