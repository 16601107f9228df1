"""Standardised weights in TensorFlow, with one order of sums on every CPU."""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.reference.standardisation import TINY
from ipulse_ops.training.ordered_sums import mean


def standardised(weights: Any, std: Any) -> Any:
    """Return the weights in use, float32; the equations are in ipulse_ops.reference.

    weights: `[senders, neurons]`, or the kernel of a convolution, whose last axis has the filters.
    std: `[neurons]`. Both receive the gradient of ipulse_ops.reference.standardisation.
    """
    weights = tf.convert_to_tensor(weights)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def in_use(matrix: Any, deviation: Any) -> Any:
        normal, factor = _normal(matrix)

        def gradient(grad: Any) -> List[Any]:
            along = mean(grad * normal, axis=0)
            by_matrix = deviation * factor * (grad - mean(grad, axis=0) - normal * along)
            return [by_matrix, along * tf.cast(tf.shape(matrix)[0], tf.float32)]

        return normal * deviation, gradient

    found = in_use(_matrix(weights), tf.convert_to_tensor(std))
    return tf.reshape(found, tf.shape(weights))


def deviation_of(weights: Any) -> Any:
    """Return the standard deviation of each neuron's or filter's weights, float32 `[neurons]`."""
    matrix = _matrix(tf.convert_to_tensor(weights))
    centred = matrix - mean(matrix, axis=0)
    variance = tf.cast(mean(centred * centred, axis=0), tf.float64)
    return tf.cast(tf.sqrt(variance), tf.float32)


def _matrix(weights: Any) -> Any:
    return tf.reshape(weights, [-1, weights.shape[-1]])


def _normal(matrix: Any) -> Tuple[Any, Any]:
    centred = matrix - mean(matrix, axis=0)
    variance = tf.cast(mean(centred * centred, axis=0), tf.float64)
    is_flat = variance < TINY
    factor = tf.where(is_flat, tf.zeros_like(variance), 1 / tf.sqrt(variance))
    factor = tf.cast(factor, tf.float32)
    return centred * factor, factor
