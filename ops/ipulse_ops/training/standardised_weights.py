"""Standardised weights in TensorFlow, with one order of sums on every CPU."""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.lif.cpu.op_library import library
from ipulse_ops.reference.standardisation import TINY
from ipulse_ops.training.ordered_sums import mean
from ipulse_ops.unsupported import in_xla


def standardised(weights: Any, std: Any) -> Any:
    """Return the weights in use, float32; the equations are in ipulse_ops.reference.

    weights: `[senders, neurons]`, or the kernel of a convolution, whose last axis has the filters.
    std: `[neurons]`. Both receive the gradient of ipulse_ops.reference.standardisation.
    """
    weights = tf.convert_to_tensor(weights)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def in_use(matrix: Any, deviation: Any) -> Any:
        values, normal, factor = _standardise(matrix, deviation)

        def gradient(grad: Any) -> List[Any]:
            along = mean(grad * normal, axis=0)
            by_matrix = deviation * factor * (grad - mean(grad, axis=0) - normal * along)
            return [by_matrix, along * tf.cast(tf.shape(matrix)[0], tf.float32)]

        return values, gradient

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


def _standardise(matrix: Any, deviation: Any) -> Tuple[Any, Any, Any]:
    """Return the weights in use, those of deviation 1, and the factor that makes them so."""
    if not in_xla():
        return tuple(library().ipulse_standardise(weights=matrix, deviation=deviation, least=TINY))
    centred = matrix - tf.reduce_mean(matrix, axis=0)
    variance = tf.reduce_mean(centred * centred, axis=0)
    factor = tf.where(variance < TINY, tf.zeros_like(variance), 1 / tf.sqrt(variance))
    return centred * factor * deviation, centred * factor, factor
