"""Constants held inside their bounds, with the gradient of the value in use."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def clipped(value: Any, low: float, high: float) -> Any:
    """The value moved to the nearer bound; the gradient passes as if nothing were moved."""
    return _replaced(value, tf.clip_by_value(value, low, high))


def above(value: Any, floor: Any) -> Any:
    """The larger of both; the gradient by `value` passes as if it were that, none by `floor`."""
    return _replaced(value, tf.maximum(value, floor))


def _replaced(value: Any, used: Any) -> Any:
    # The difference is 0, exactly.
    return tf.stop_gradient(used) + (value - tf.stop_gradient(value))
