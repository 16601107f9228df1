"""Inputs and outputs of training steps and of the evaluation of a batch."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf


class TrainingBatch(NamedTuple):
    """The input of a training step."""

    ids: np.ndarray  # uint16 or int32 [time, batch, slots], as SpikeTrains.batch returns them
    counts: np.ndarray  # int32 [time, batch]
    labels: np.ndarray  # int32 [batch], or targets as Objective describes them
    learning_rate: float


BatchOf = Callable[[int], TrainingBatch]  # the argument is the training step, from 1


class StepResult(NamedTuple):
    """The result of a training step."""

    gradients: List[tf.Tensor]  # of the mean loss and the penalties, clipped
    sums: np.ndarray  # float64, in the layout of MetricAccumulator.sums
    max_spikes: np.ndarray  # float32 [spiking layers]: maximum over steps and samples


class Execution(NamedTuple):
    """Training steps that a device ran without returning to the host between them."""

    step_results: List[StepResult]
    batching_seconds: float  # waiting for batches
    optimizer_seconds: float  # updating the weights, where this is measured


class BatchEvaluation(NamedTuple):
    """The network's results on a batch that it does not learn from."""

    sums: np.ndarray  # float64, in the layout of MetricAccumulator.sums
    predicted: np.ndarray  # int32 [batch], or a regression's outputs
    spikes_by_step: np.ndarray  # float64 [spiking layers, time], summed over the batch
    dropped_by_step: np.ndarray  # float64 [spiking layers, time], summed over the batch
    # For each spiking layer ids [time, batch, slots] and counts [time, batch]; None if the device
    # does not return them.
    lists: Optional[List[Tuple[np.ndarray, np.ndarray]]] = None


def padded(ids: np.ndarray, counts: np.ndarray, labels: np.ndarray, size: int) -> List[np.ndarray]:
    """Return a batch of `size` samples with int32 ids, and a mask that is 1 for those given."""
    missing = size - len(labels)
    mask = np.concatenate([np.ones(len(labels), np.float32), np.zeros(missing, np.float32)])
    return [
        np.pad(ids.astype(np.int32), [(0, 0), (0, missing), (0, 0)], "constant"),
        np.pad(counts, [(0, 0), (0, missing)], "constant"),
        np.pad(labels, [(0, missing), *[(0, 0)] * (labels.ndim - 1)], "constant"),
        mask,
    ]
