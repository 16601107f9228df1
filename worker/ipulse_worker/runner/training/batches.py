"""What goes into a training step as a batch, and what comes out of it."""

from __future__ import annotations

from typing import Callable, List, NamedTuple

import numpy as np
import tensorflow as tf


class TrainingBatch(NamedTuple):
    """What a training step reads."""

    ids: np.ndarray  # uint16 or int32 [time, batch, slots], as SpikeTrains.batch gives them
    counts: np.ndarray  # int32 [time, batch]
    labels: np.ndarray  # int32 [batch]
    rate: float  # of learning


BatchOf = Callable[[int], TrainingBatch]  # of a training step, from 1


class Learned(NamedTuple):
    """What a training step's batch gave."""

    gradients: List[tf.Tensor]  # of the mean loss and the penalties, within their bounds
    sums: np.ndarray  # float64, as Tally.sums
    most: np.ndarray  # float32 [spiking layers]: the most spikes of any step and sample


class Execution(NamedTuple):
    """Training steps that were done without a word from the host."""

    learned: List[Learned]
    batching: float  # seconds that the device waited for batches
    applying: float  # seconds that changing the weights took, where that is seen


class Judged(NamedTuple):
    """What a batch showed."""

    sums: np.ndarray  # float64, as Tally.sums
    predicted: np.ndarray  # int32 [batch]
    spikes_by_step: np.ndarray  # float64 [spiking layers, time], summed over the batch
    dropped_by_step: np.ndarray  # float64 [spiking layers, time], summed over the batch
