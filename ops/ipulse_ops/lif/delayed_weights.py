"""Weights of connections with delays in TensorFlow, as the taller matrix of their taps.

The equations are in ipulse_ops.reference.connection_delays. Every sum has one order on every CPU.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.cpu.op_library import library
from ipulse_ops.reference.connection_delays import NEVER


def taps_of(weights: Any, delays: Any, connections: ConnectionDelays) -> Tuple[Any, Any]:
    """Return the taller matrix, float32 `[taps * N_in, neurons]`, and the arrivals of its senders.

    weights: `[N_in, neurons]`.
    delays: `[N_in, neurons]` of synapses, or `[N_in]` of senders, which receive a gradient.
    """
    if connections.are_trained:
        return _interpolated(weights, delays, connections.longest)
    return _by_synapse(weights, delays, connections.longest)


def _interpolated(weights: Any, delays: Any, longest: int) -> Tuple[Any, Any]:
    clipped = tf.clip_by_value(tf.stop_gradient(delays), 0.0, float(longest))
    whole = tf.minimum(tf.floor(clipped), float(longest - 1))
    rest = clipped - whole

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def taller(matrix: Any, _: Any) -> Any:
        late, early = rest[:, tf.newaxis], (1 - rest)[:, tf.newaxis]

        def gradient(grad: Any) -> List[Any]:
            first, second = tf.split(grad, 2)
            along = matrix * (second - first)
            three = along[:, :, tf.newaxis]  # summed over the neurons
            sums = library().ipulse_ordered_sum(values=three, squares=False).sums
            by_delays = tf.cast(tf.reshape(sums, tf.shape(rest)), tf.float32)
            return [early * first + late * second, by_delays]

        return tf.concat([early * matrix, late * matrix], axis=0), gradient

    arrivals = tf.cast(tf.stack([whole, whole + 1]), tf.int32)
    return taller(weights, delays), arrivals


def _by_synapse(weights: Any, delays: Any, longest: int) -> Tuple[Any, Any]:
    whole = tf.cast(tf.clip_by_value(tf.stop_gradient(delays), 0.0, float(longest)), tf.int32)
    tap = tf.range(longest + 1)[:, tf.newaxis, tf.newaxis]
    chosen = tf.equal(whole, tap)  # [taps, N_in, neurons]

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def taller(matrix: Any) -> Any:
        def gradient(grad: Any) -> Any:
            by_tap = tf.reshape(grad, tf.shape(chosen))
            # One summand of each sum is not 0.
            return tf.reduce_sum(tf.where(chosen, by_tap, tf.zeros_like(by_tap)), axis=0)

        by_tap = tf.where(chosen, matrix, tf.zeros_like(matrix))
        return tf.reshape(by_tap, [-1, tf.shape(matrix)[1]]), gradient

    arrives = tf.reduce_any(chosen, axis=2)
    steps = tf.broadcast_to(tap[..., 0], tf.shape(arrives))
    return taller(weights), tf.where(arrives, steps, NEVER * tf.ones_like(steps))
