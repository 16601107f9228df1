"""Penalties that keep a layer's activity within bounds, in TensorFlow, each a float32 scalar.

They act on hidden layers through the per-slot gradients of ipulse_ops.lif.tensorflow_op, so that a
neuron
feels them at the steps at which it is in the gradient set. `spike_ids` and `spike_counts` are a
layer's of LIFOutputs; c is the number of spikes of a neuron in a sample. `mask`: float32 `[batch]`,
1 for the samples that count and 0 for others; None for all.
"""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.training.spike_totals import layer_totals, spike_totals


def lower_bound(
    spike_ids: Any, spike_counts: Any, neurons: int, spikes: float, mask: Optional[Any] = None
) -> Any:
    """The mean over samples and neurons of max(0, spikes - c)^2."""
    totals = spike_totals(spike_ids, spike_counts, neurons)
    shortage = tf.square(tf.nn.relu(spikes - totals))
    if mask is None:
        return tf.reduce_mean(shortage)
    return mean_over(tf.reduce_mean(shortage, axis=1), mask)


def upper_bound(
    spike_ids: Any,
    spike_counts: Any,
    neurons: int,
    spikes: float,
    power: int = 2,
    mask: Optional[Any] = None,
) -> Any:
    """The mean over samples of max(0, (mean of c over the layer) - spikes)^power, power 1 or 2."""
    excess = tf.nn.relu(layer_totals(spike_ids, spike_counts) / neurons - spikes)
    return mean_over(tf.square(excess) if power == 2 else excess, mask)


def mean_over(by_sample: Any, mask: Optional[Any]) -> Any:
    """The mean of `[batch]` over the samples that count."""
    if mask is None:
        return tf.reduce_mean(by_sample)
    return tf.reduce_sum(by_sample * mask) / tf.reduce_sum(mask)
