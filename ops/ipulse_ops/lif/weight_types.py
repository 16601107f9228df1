"""The types of a run's copies of the weights: float32, or rounded to bfloat16."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

WEIGHT_TYPES = ("float32", "bfloat16")


def rounded(weights: Any, weights_dtype: str) -> Any:
    """Round float32 weights to the dtype, in float32; the gradient passes unchanged."""
    if weights_dtype == "float32":
        return tf.convert_to_tensor(weights)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def narrow(values: Any) -> Any:
        # The gradient of the cast would be rounded, too.
        return tf.cast(tf.cast(values, tf.bfloat16), tf.float32), lambda grad: grad

    return narrow(tf.convert_to_tensor(weights))
