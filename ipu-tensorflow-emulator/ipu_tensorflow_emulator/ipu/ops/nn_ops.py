"""`ipu.nn_ops`: activations."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf


def gelu(x: Any, approximate: bool = True, name: Optional[str] = None) -> Any:
    """Return the Gaussian error linear unit."""
    return tf.compat.v2.nn.gelu(x, approximate=approximate, name=name)


def swish(x: Any, name: Optional[str] = None) -> Any:
    """Return x times its sigmoid."""
    return x * tf.sigmoid(x)


def hard_sigmoid(x: Any, name: Optional[str] = None) -> Any:
    """Return the piecewise linear sigmoid."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)
