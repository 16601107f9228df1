"""Losses of a network's readout, in TensorFlow: each a few ops over the smallest thing it needs.

membrane: float32 `[time, batch, classes]` of a leaky readout. spikes: float32 `[batch, classes]`,
how often each neuron of a spiking readout spiked, as ipulse_ops.training.spike_totals counts them
from ids.
labels: int32 `[batch]`. A loss is float32 `[batch]`, in nats where it is a cross-entropy; a
prediction int32 `[batch]`, the lowest class where several lead.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def mean_membrane_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Of the softmax of the membrane's mean over time."""
    return cross_entropy(_mean_over_time(membrane), labels)


def max_membrane_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Of the softmax of the membrane's largest value over time."""
    return cross_entropy(tf.reduce_max(membrane, axis=0), labels)


def step_cross_entropy(membrane: Any, labels: Any) -> Any:
    """The mean over time of the cross-entropy of each step's membrane."""
    steps, batch, classes = tf.unstack(tf.shape(membrane))
    flat = cross_entropy(tf.reshape(membrane, [-1, classes]), tf.tile(labels, [steps]))
    return tf.reduce_mean(tf.reshape(flat, [steps, batch]), axis=0)


def spike_count_cross_entropy(spikes: Any, labels: Any) -> Any:
    """Of the softmax of the spike counts."""
    return cross_entropy(spikes, labels)


def spike_count_mse(spikes: Any, labels: Any, right: float = 10.0, wrong: float = 1.0) -> Any:
    """The mean over classes of (spikes - target)^2, with the target `right` for the neuron of the
    sample's class and `wrong` for every other."""
    targets = tf.one_hot(labels, spikes.shape[1], on_value=right, off_value=wrong)
    return tf.reduce_mean(tf.square(spikes - targets), axis=1)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """-log softmax(logits)[label], of logits `[batch, classes]`.

    Raises tf.errors.InvalidArgumentError on a CPU for a label that is no class."""
    # tf.nn's is a dozen ops and their gradients where ops are to be deterministic, for GPUs' sake.
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels).loss


@tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
def _mean_over_time(membrane: Any) -> Any:
    # TensorFlow's own gradient of a mean is spread over all steps first and divided there.
    shape = tf.shape(membrane)

    def gradient(upstream: Any) -> Any:
        return tf.broadcast_to(upstream / tf.cast(shape[0], upstream.dtype), shape)

    return tf.reduce_mean(membrane, axis=0), gradient


def predicted_by_mean(membrane: Any) -> Any:
    """The class of the largest mean over time."""
    return _largest(tf.reduce_mean(membrane, axis=0))


def predicted_by_max(membrane: Any) -> Any:
    """The class of the largest value over time."""
    return _largest(tf.reduce_max(membrane, axis=0))


def predicted_by_steps(membrane: Any) -> Any:
    """The class that leads in most steps."""
    leading = tf.argmax(membrane, axis=2, output_type=tf.int32)
    return _largest(tf.reduce_sum(tf.one_hot(leading, membrane.shape[2]), axis=0))


def predicted_by_spikes(spikes: Any) -> Any:
    """The class that spiked most."""
    return _largest(spikes)


def _largest(scores: Any) -> Any:
    return tf.argmax(scores, axis=1, output_type=tf.int32)
