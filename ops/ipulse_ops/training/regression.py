"""Regression: the outputs of a leaky readout and their distance from targets, in TensorFlow.

Common arguments: membrane, float32 `[time, batch, outputs]` of a leaky readout; outputs, the result
of one of the first three functions; targets, float32 in the shape of the outputs. Targets of
`[batch, 1, outputs]` apply to all steps.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipulse_ops.training.ordered_sums import mean


def outputs_by_step(membrane: Any) -> Any:
    """Return the membrane at every step, float32 `[batch, time, outputs]`."""
    return tf.transpose(membrane, [1, 0, 2])


def mean_outputs(membrane: Any) -> Any:
    """Return the mean over time of the membrane, float32 `[batch, outputs]`."""
    return mean(membrane, axis=0)


def last_outputs(membrane: Any) -> Any:
    """Return the membrane at the last step, float32 `[batch, outputs]`."""
    return membrane[-1]


def squared_error(outputs: Any, targets: Any) -> Any:
    """Return the mean of (output - target)^2 over outputs and steps, float32 `[batch]`."""
    return _mean_by_sample(tf.square(outputs - targets))


def absolute_error(outputs: Any, targets: Any) -> Any:
    """Return the mean of |output - target| over outputs and steps, float32 `[batch]`."""
    return _mean_by_sample(tf.abs(outputs - targets))


def _mean_by_sample(values: Any) -> Any:
    return mean(tf.reshape(values, [tf.shape(values)[0], -1]), axis=-1)
