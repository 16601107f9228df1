"""Counts spikes over time from their ids, in TensorFlow, or spreads them over the neurons.

Counts need no array `[time, neurons]`.

Gradients are per slot, as in ipulse_ops.lif.tensorflow_op: the gradient of `spike_ids` is dL/ds of
the neuron in each filled slot, including gradient-only neurons. `spike_counts` receives none.
"""

from __future__ import annotations

from typing import Any, Callable, Tuple

import tensorflow as tf


def spike_totals(spike_ids: Any, spike_counts: Any, neurons: int) -> Any:
    """Count the spikes of each neuron: float32 `[batch, neurons]`.

    spike_ids: float32 `[time, batch, slots]`; spike_counts: float32 `[time, batch, 2]`, spikes
        and filled slots; as in LIFOutputs.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def histogram(ids: Any, counts: Any) -> Tuple[Any, Callable[[Any], Tuple[Any, None]]]:
        batch = tf.shape(ids)[1]
        first = neurons * tf.range(batch)[tf.newaxis, :, tf.newaxis]
        places = tf.cast(ids, tf.int32) + first
        spiking = tf.cast(_slots(ids) < counts[..., :1], tf.float32)
        totals = tf.math.unsorted_segment_sum(spiking, places, batch * neurons)

        def gradient(grad: Any) -> Tuple[Any, None]:
            by_slot = tf.gather(tf.reshape(grad, [-1]), places)
            return tf.where(_slots(ids) < counts[..., 1:], by_slot, tf.zeros_like(by_slot)), None

        return tf.reshape(totals, [batch, neurons]), gradient

    return histogram(spike_ids, spike_counts)


def spike_trains(spike_ids: Any, spike_counts: Any, neurons: int) -> Any:
    """Return 1 where a neuron spikes and 0 elsewhere: float32 `[time, batch, neurons]`.

    Arguments as of spike_totals.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def trains(ids: Any, counts: Any) -> Tuple[Any, Callable[[Any], Tuple[Any, None]]]:
        rows = tf.shape(ids)[0] * tf.shape(ids)[1]
        first = neurons * tf.reshape(tf.range(rows), tf.shape(ids)[:2])[..., tf.newaxis]
        places = tf.cast(ids, tf.int32) + first
        spiking = tf.cast(_slots(ids) < counts[..., :1], tf.float32)
        found = tf.math.unsorted_segment_sum(spiking, places, rows * neurons)

        def gradient(grad: Any) -> Tuple[Any, None]:
            by_slot = tf.gather(tf.reshape(grad, [-1]), places)
            return tf.where(_slots(ids) < counts[..., 1:], by_slot, tf.zeros_like(by_slot)), None

        return tf.reshape(found, [tf.shape(ids)[0], tf.shape(ids)[1], neurons]), gradient

    return trains(spike_ids, spike_counts)


def layer_totals(spike_ids: Any, spike_counts: Any) -> Any:
    """Count the spikes of all neurons of a layer: float32 `[batch]`; arguments as above."""

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def total(ids: Any, counts: Any) -> Tuple[Any, Callable[[Any], Tuple[Any, None]]]:
        def gradient(grad: Any) -> Tuple[Any, None]:
            filled = tf.cast(_slots(ids) < counts[..., 1:], tf.float32)
            return filled * grad[tf.newaxis, :, tf.newaxis], None

        return tf.reduce_sum(counts[..., 0], axis=0), gradient

    return total(spike_ids, spike_counts)


def _slots(ids: Any) -> Any:
    """Return the numbers of the slots from 0, float32 like the counts."""
    return tf.cast(tf.range(tf.shape(ids)[2]), tf.float32)
