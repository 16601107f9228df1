"""`ipu.rand_ops`: random numbers, of TensorFlow's generator."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect


def dropout(
    x: Any,
    seed: Any = None,
    rate: float = 0.5,
    noise_shape: Any = None,
    ref: Any = None,
    name: Optional[str] = None,
) -> Any:
    """Set elements to zero at random, with TensorFlow's generator."""
    has_no_effect("seeds of rand_ops.dropout (the numbers are TensorFlow's)")
    return tf.nn.dropout(x, rate=rate, noise_shape=noise_shape, name=name)
