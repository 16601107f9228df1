"""Quantised weights in TensorFlow, for training: the gradient passes straight through."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import tensorflow as tf

from ipulse_ops.quantisation import TINY, Quantisation


def quantised(weights: Any, rule: Optional[Quantisation]) -> Any:
    """Return the weights in use, float32, equal to ipulse_ops.quantisation.quantise.

    None leaves the weights as they are. The gradient passes unchanged.
    """
    weights = tf.convert_to_tensor(weights)
    if rule is None:
        return weights
    chosen = rule

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def straight_through(values: Any) -> Any:
        scale = _scale(values, chosen)
        return tf.round(values / scale) * scale, lambda grad: grad

    return straight_through(weights)


def _scale(values: Any, rule: Quantisation) -> Any:
    axes = list(rule.axes(values.shape.rank))
    most = tf.reduce_max(tf.abs(values), axis=axes, keepdims=True)
    carry = np.int32(2**rule.cut_bits - 1)
    bits = tf.bitcast(most * rule.reciprocal, tf.int32)
    scale = tf.bitcast(tf.bitwise.bitwise_and(bits + carry, ~carry), tf.float32)
    return tf.where(most < TINY, tf.ones_like(scale), scale)
