"""Metrics of a batch as tensors, to be added to a MetricAccumulator."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training.ordered_sums import exact_total
from ipulse_ops.training.regularisers import counted


class StepMetrics(NamedTuple):
    """The outputs of a network for a batch, as tensors."""

    out: LIFOutputs
    losses: Any  # float32 [batch]
    predicted: Any  # int32 [batch], or a regression's outputs
    scores: Any  # float32 [batch]: 1 for right predictions, or a regression's absolute errors
    penalty: Optional[Any] = None  # float32 scalar for the whole batch
    mask: Optional[Any] = None  # float32 [batch], 0 for padding samples; None: no padding

    def sums(self) -> Any:
        """Return MetricAccumulator.sums in float64, in which spike counts are exact."""
        samples = tf.cast(tf.size(self.losses), tf.float64)
        if self.mask is not None:
            samples = _total(self.mask)
        added = tf.constant(0.0, tf.float64)
        if self.penalty is not None:
            added = samples * tf.cast(self.penalty, tf.float64)
        loss, score = _total(self._counted(self.losses)), _total(self._counted(self.scores))
        of_layers = [_total(tensor) for tensor in self._of_layers()]
        return tf.stack([samples, loss, score, added, *of_layers])

    def single_sums(self) -> List[Any]:
        """Return the inputs of `sums_of` in float32, for devices without float64.

        The first has shape `[4]`; spikes, active gradients and dropped spikes follow, each
        `[spiking layers, time]`. A sum over a batch is small enough to be exact in float32.
        """
        samples = tf.cast(tf.size(self.losses), tf.float32)
        if self.mask is not None:
            samples = tf.reduce_sum(self.mask)
        added = tf.constant(0.0) if self.penalty is None else samples * self.penalty
        loss = tf.reduce_sum(self._counted(self.losses))
        score = tf.reduce_sum(self._counted(self.scores))
        head = tf.stack([samples, loss, score, added])
        of_layers = [tf.reduce_sum(tensor, 1) for tensor in self._of_layers()]
        spiking = len(self.out.dropped)
        kinds = [of_layers[kind * spiking : (kind + 1) * spiking] for kind in range(3)]
        return [head, *(tf.stack(kind) for kind in kinds)]

    def spikes_by_step(self) -> Any:
        """Return spikes summed over the batch, float64 `[spiking layers, time]`."""
        counts = self.out.spike_counts
        return tf.stack([_over_batch(self._counted(c[:, :, 0])) for c in counts])

    def dropped_by_step(self) -> Any:
        """Return dropped spikes summed over the batch, float64 `[spiking layers, time]`."""
        return tf.stack([_over_batch(self._counted(layer)) for layer in self.out.dropped])

    def max_spikes(self) -> Any:
        """Return the maximum spikes of any step and sample, float32 `[spiking layers]`."""
        return tf.stack(
            [
                tf.reduce_max(self._counted(c[:, :, 0] + dropped))
                for c, dropped in zip(self.out.spike_counts, self.out.dropped)
            ]
        )

    def _of_layers(self) -> List[Any]:
        """Return float32 `[time, batch]` tensors.

        Spikes of every layer come first, then active gradients and dropped spikes of every layer.
        """
        counts = self.out.spike_counts
        tensors = [*(c[:, :, 0] for c in counts), *(c[:, :, 1] for c in counts), *self.out.dropped]
        return [self._counted(tensor) for tensor in tensors]

    def _counted(self, values: Any) -> Any:
        """Set the values of padding samples, `[..., batch]`, to 0."""
        return values if self.mask is None else counted(values, self.mask)


def sums_of(head: Any, spikes: Any, slots: Any, dropped: Any) -> np.ndarray:
    """Convert the arrays of StepMetrics.single_sums to MetricAccumulator.sums."""
    layers = [np.sum(array, axis=1, dtype=np.float64) for array in (spikes, slots, dropped)]
    return np.concatenate([np.asarray(head, np.float64), *layers])


def _total(values: Any) -> Any:
    return exact_total(values)


def _over_batch(values: Any) -> Any:
    return tf.reduce_sum(tf.cast(values, tf.float64), 1)
