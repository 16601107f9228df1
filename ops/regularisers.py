"""Penalties that keep a layer's activity within bounds, in TensorFlow, each a float32 scalar.

They act on hidden layers through the per-slot gradients of ops.lif.tensorflow_op, so that a neuron
feels them at the steps at which it is in the gradient set. `spike_ids` and `spike_counts` are a
layer's of LIFOutputs; c is the number of spikes of a neuron in a sample.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ops.spike_totals import layer_totals, spike_totals


def lower_bound(spike_ids: Any, spike_counts: Any, neurons: int, spikes: float) -> Any:
    """The mean over samples and neurons of max(0, spikes - c)^2."""
    totals = spike_totals(spike_ids, spike_counts, neurons)
    return tf.reduce_mean(tf.square(tf.nn.relu(spikes - totals)))


def upper_bound(
    spike_ids: Any, spike_counts: Any, neurons: int, spikes: float, power: int = 2
) -> Any:
    """The mean over samples of max(0, (mean of c over the layer) - spikes)^power, power 1 or 2."""
    excess = tf.nn.relu(layer_totals(spike_ids, spike_counts) / neurons - spikes)
    return tf.reduce_mean(tf.square(excess) if power == 2 else excess)
