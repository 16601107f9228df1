"""Losses of the time of the first spike and of the last step, in TensorFlow.

Gradients are per slot, as in ipulse_ops.lif.tensorflow_op. labels: int32 `[batch]`. A prediction is
int32 `[batch]`; the lowest of several equal classes wins.
"""

from __future__ import annotations

from typing import Any, Callable, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.training.losses import cross_entropy


def last_membrane_cross_entropy(membrane: Any, labels: Any) -> Any:
    """Return the cross-entropy of the softmax of the membrane at the last step.

    membrane: float32 `[time, batch, classes]` of a leaky readout.
    """
    return cross_entropy(membrane[-1], labels)


def predicted_by_last(membrane: Any) -> Any:
    """Return the class with the largest membrane at the last step."""
    return tf.argmax(membrane[-1], axis=1, output_type=tf.int32)


def first_spike_times(spike_ids: Any, spike_counts: Any, neurons: int) -> Any:
    """Return the step of each neuron's first spike, float32 `[batch, neurons]`.

    It is the number of steps for a neuron that does not spike. spike_ids, spike_counts: as in
    LIFOutputs.

    With first and second spike t1 and t2, the derivative with respect to the neuron's spike at step
    t is t - t1 before t1, t1 - t2 at t1, and 0 later: what adding or removing that spike changes.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def times(ids: Any, counts: Any) -> Tuple[Any, Callable[[Any], Tuple[Any, None]]]:
        steps, batch, slots = tf.unstack(tf.shape(ids))
        places = tf.cast(ids, tf.int32) + neurons * tf.range(batch)[tf.newaxis, :, tf.newaxis]
        step = tf.cast(tf.range(steps), tf.float32)[:, tf.newaxis, tf.newaxis]
        slot = tf.cast(tf.range(slots), tf.float32)
        silent = tf.cast(steps, tf.float32)
        spiking = slot < counts[..., :1]

        def earliest(chosen: Any) -> Any:
            at = tf.where(chosen, step, silent)
            return tf.minimum(tf.math.unsorted_segment_min(at, places, batch * neurons), silent)

        first = earliest(spiking)
        by_slot = tf.gather(first, places)

        def gradient(grad: Any) -> Tuple[Any, None]:
            second = tf.gather(earliest(spiking & (step > by_slot)), places)
            change = tf.where(step < by_slot, step - by_slot, tf.zeros_like(by_slot))
            change = tf.where(tf.equal(step, by_slot), by_slot - second, change)
            filled = tf.cast(slot < counts[..., 1:], tf.float32)
            return filled * change * tf.gather(tf.reshape(grad, [-1]), places), None

        return tf.reshape(first, [batch, neurons]), gradient

    return times(spike_ids, spike_counts)


def first_spike_cross_entropy(times: Any, labels: Any, time_constant: float) -> Any:
    """Return the cross-entropy of the softmax of -times / time_constant.

    times: the result of first_spike_times; time_constant: in steps.
    """
    # A factor: TensorFlow may or may not replace a division by a constant.
    share = np.float32(1) / np.float32(time_constant)
    return cross_entropy(-times * share, labels)


def predicted_by_first_spike(times: Any) -> Any:
    """Return the class of the neuron that spikes first."""
    return tf.argmin(times, axis=1, output_type=tf.int32)
