"""The surrogates of ipulse_ops.surrogate in TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate


def phi(surrogate: Surrogate, x: Any) -> Any:
    """Return the surrogate at `x = u - threshold`, float32 of the shape of x."""
    if isinstance(surrogate, SuperSpike):
        return 1 / (surrogate.slope * tf.abs(x) + 1) ** 2
    if isinstance(surrogate, ArcTan):
        return 1 / ((surrogate.slope * x) ** 2 + 1)
    if isinstance(surrogate, Boxcar):
        return tf.cast(tf.abs(x) < surrogate.half_width, tf.float32)
    if isinstance(surrogate, Exponential):
        return tf.exp(-surrogate.slope * tf.abs(x))
    values = tf.constant(surrogate.values, tf.float32)
    intervals = len(surrogate.values) - 1
    inside = tf.abs(x) <= surrogate.width
    place = (tf.where(inside, x, 0.0) + surrogate.width) * (intervals / (2 * surrogate.width))
    k = tf.minimum(tf.cast(place, tf.int32), intervals - 1)
    low, high = tf.gather(values, k), tf.gather(values, k + 1)
    return tf.where(inside, low + (place - tf.cast(k, tf.float32)) * (high - low), 0.0)
