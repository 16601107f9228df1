"""Bounds for trained constants that pass the gradient of the bounded value."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def clipped(value: Any, low: float, high: float) -> Any:
    """Clip the value to the bounds; the gradient passes as if it were not clipped."""
    return _replaced(value, tf.clip_by_value(value, low, high))


def above(value: Any, floor: Any) -> Any:
    """Return the maximum of both; the whole gradient passes to `value`, none to `floor`."""
    return _replaced(value, tf.maximum(value, floor))


def _replaced(value: Any, used: Any) -> Any:
    # The difference is 0, exactly.
    return tf.stop_gradient(used) + (value - tf.stop_gradient(value))
