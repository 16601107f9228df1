"""Losses and predictions of a network's readout, in TensorFlow.

Common arguments: membrane, float32 `[time, batch, classes]` of a leaky readout; spikes, float32
`[batch, classes]`, spike counts of a spiking readout from ipulse_ops.training.spike_totals; labels,
int32 `[batch]`. A loss is float32 `[batch]`; cross-entropies are in nats. A prediction is int32
`[batch]`; the lowest of several equal classes wins.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipulse_ops.lif.cpu.op_library import library
from ipulse_ops.training.ordered_sums import mean
from ipulse_ops.unsupported import in_xla


def mean_membrane_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Return the cross-entropy of the softmax of the membrane's mean over time."""
    return cross_entropy(mean(membrane, axis=0), labels)


def max_membrane_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Return the cross-entropy of the softmax of the membrane's maximum over time."""
    return cross_entropy(tf.reduce_max(membrane, axis=0), labels)


def step_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Return the mean over time of the cross-entropy of each step's membrane."""
    steps, batch, classes = tf.unstack(tf.shape(membrane))
    flat = cross_entropy(tf.reshape(membrane, [-1, classes]), tf.tile(labels, [steps]))
    return mean(tf.reshape(flat, [steps, batch]), axis=0)


def spike_count_cross_entropy(spikes: Any, labels: Any) -> Any:
    """Return the cross-entropy of the softmax of the spike counts."""
    return cross_entropy(spikes, labels)


def spike_count_mse(spikes: Any, labels: Any, right: float = 10.0, wrong: float = 1.0) -> Any:
    """Return the mean over classes of (spikes - target)^2.

    right: target of the neuron of the sample's class.
    wrong: target of the other neurons.
    """
    targets = tf.one_hot(labels, spikes.shape[1], on_value=right, off_value=wrong)
    return mean(tf.square(spikes - targets), axis=-1)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return -log softmax(logits)[label] of logits `[batch, classes]`.

    Raises tf.errors.InvalidArgumentError on a CPU for a label that is not a class.
    """
    if in_xla():
        found = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
        return found.loss
    return library().ipulse_cross_entropy(logits=logits, labels=tf.cast(labels, tf.int32)).loss


def predicted_by_mean(membrane: Any) -> Any:
    """Return the class with the largest mean over time."""
    return _largest(mean(membrane, axis=0))


def predicted_by_max(membrane: Any) -> Any:
    """Return the class with the largest value over time."""
    return _largest(tf.reduce_max(membrane, axis=0))


def predicted_by_steps(membrane: Any) -> Any:
    """Return the class that has the largest membrane in most steps."""
    leading = tf.argmax(membrane, axis=2, output_type=tf.int32)
    return _largest(tf.reduce_sum(tf.one_hot(leading, membrane.shape[2]), axis=0))


def predicted_by_spikes(spikes: Any) -> Any:
    """Return the class with the most spikes."""
    return _largest(spikes)


def _largest(scores: Any) -> Any:
    return tf.argmax(scores, axis=1, output_type=tf.int32)
