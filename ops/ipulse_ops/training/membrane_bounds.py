"""A penalty that bounds the membranes of a layer, in TensorFlow."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.training.ordered_sums import mean
from ipulse_ops.training.regularisers import mean_over


def membrane_bound(membranes: Any, low: float, high: float, mask: Optional[Any] = None) -> Any:
    """Return the mean over samples, steps and neurons of max(0, low - u, u - high)^2, a scalar.

    membranes: u of a layer, float32 `[time, batch, neurons]`: LIFOutputs.membrane of the readout,
        or LIFOutputs.membranes of a hidden layer, whose network has return_membranes.
    low, high: membranes between them, `low <= high`, have no penalty.
    mask: float32 `[batch]`, 1 for samples that count and 0 for others; None for all.

    Every neuron receives its gradient, at steps without a slot, too.
    """
    excess = tf.nn.relu(membranes - high) + tf.nn.relu(low - membranes)
    by_sample = tf.transpose(tf.square(excess), [1, 0, 2])
    flat = tf.reshape(by_sample, [tf.shape(by_sample)[0], -1])
    return mean_over(mean(flat, axis=-1), mask)
