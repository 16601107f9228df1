"""Penalties that bound a layer's activity, in TensorFlow; each is a float32 scalar.

They act on hidden layers through the gradients per slot of ipulse_ops.lif.tensorflow_op, so that
they change a neuron only at steps at which it carries gradient. Common arguments: `spike_ids` and
`spike_counts` of a layer from LIFOutputs; `mask`, float32 `[batch]`, 1 for samples that count and 0
for others, or None for all. c is the number of spikes of a neuron in a sample.
"""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.training.ordered_sums import mean, total
from ipulse_ops.training.spike_totals import layer_totals, spike_totals


def lower_bound(
    spike_ids: Any, spike_counts: Any, neurons: int, spikes: float, mask: Optional[Any] = None
) -> Any:
    """Return the mean over samples and neurons of max(0, spikes - c)^2."""
    totals = spike_totals(spike_ids, spike_counts, neurons)
    shortage = tf.square(tf.nn.relu(spikes - totals))
    if mask is None:
        return mean(shortage)
    return mean_over(mean(shortage, axis=-1), mask)


def upper_bound(
    spike_ids: Any,
    spike_counts: Any,
    neurons: int,
    spikes: float,
    power: int = 2,
    mask: Optional[Any] = None,
) -> Any:
    """Return the mean over samples of max(0, (mean of c over neurons) - spikes)^power.

    power: 1 or 2.
    """
    excess = tf.nn.relu(layer_totals(spike_ids, spike_counts) * (1 / neurons) - spikes)
    return mean_over(tf.square(excess) if power == 2 else excess, mask)


def mean_over(by_sample: Any, mask: Optional[Any]) -> Any:
    """Return the mean of `[batch]` over the samples that count."""
    if mask is None:
        return mean(by_sample)
    return total(counted(by_sample, mask)) / tf.reduce_sum(mask)


def counted(values: Any, mask: Any) -> Any:
    """Return `[..., batch]` with 0 for samples that do not count, even where it is not finite."""
    return tf.where(mask > 0, values, tf.zeros_like(values))
