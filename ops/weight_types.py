"""How weights may be stored: float32, or rounded to bfloat16."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

WEIGHT_TYPES = ("float32", "bfloat16")


def rounded(weights: Any, weights_dtype: str) -> Any:
    """The weights as a run with that dtype sees them, float32; a gradient passes unchanged."""
    if weights_dtype == "float32":
        return tf.convert_to_tensor(weights)
    return tf.cast(tf.cast(weights, tf.bfloat16), tf.float32)
