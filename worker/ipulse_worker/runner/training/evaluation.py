"""Evaluation of a network on held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ipulse_core.derived_values import class_count
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import spiking_names, spiking_neurons
from ipulse_worker.runner.results.results import Evaluation, SampleTrace
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def evaluate(model: Model, dataset: Dataset, spec: ExperimentSpec) -> Evaluation:
    """Evaluate the model on the held-out samples, in batches of the training's size."""
    metrics = MetricAccumulator(spiking_names(spec), spiking_neurons(spec), spec.data.steps)
    confusion = np.zeros((class_count(spec.data), class_count(spec.data)), dtype=np.int64)
    spikes = np.zeros((len(metrics.names), spec.data.steps))
    dropped = np.zeros_like(spikes)
    input_spikes = np.zeros(spec.data.steps)
    for first in range(0, len(dataset.test), spec.training.batch_size):
        samples = dataset.test[first : first + spec.training.batch_size]
        ids, counts = dataset.trains.batch(samples)
        labels = dataset.labels[samples]
        result = model.evaluate(ids, counts, labels)
        metrics.add(result.sums)
        np.add.at(confusion, (labels, result.predicted), 1)
        spikes += result.spikes_by_step
        dropped += result.dropped_by_step
        input_spikes += counts.sum(axis=1)
    return Evaluation(
        metrics=metrics,
        confusion=confusion,
        spikes_by_step=spikes / len(dataset.test),
        dropped_by_step=dropped / len(dataset.test),
        input_spikes_by_step=input_spikes / len(dataset.test),
    )


def trace_sample(model: Model, dataset: Dataset, sample: int) -> SampleTrace:
    """Record every spike of one sample and the readout's membrane potentials."""
    at = np.array([sample])
    ids, counts = dataset.trains.batch(at)
    predicted = model.evaluate(ids, counts, dataset.labels[at]).predicted
    out = model.forward(ids, counts)
    membrane = out.membrane[:, 0].astype(np.float64)
    layer_spikes = []
    hidden = len(model.spec.network.layers)
    for slots, filled in zip(out.spike_ids[:hidden], out.spike_counts[:hidden]):
        layer_ids, layer_counts = slots[:, 0], filled[:, 0, 0]
        layer_spikes.append(_pairs(layer_ids, layer_counts))
    return SampleTrace(
        sample=sample,
        image=None if dataset.images is None else dataset.images[sample],
        label=int(dataset.labels[sample]),
        predicted=int(predicted[0]),
        input_spikes=_pairs(ids[:, 0], counts[:, 0]),
        layer_spikes=layer_spikes,
        membrane=membrane,
    )


def _pairs(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Convert ids `[time, slots]` and counts `[time]` to (step, neuron), int64 `[spikes, 2]`."""
    step, slot = np.nonzero(np.arange(ids.shape[1]) < counts[:, None])
    return np.stack([step, ids[step, slot].astype(np.int64)], axis=1)
