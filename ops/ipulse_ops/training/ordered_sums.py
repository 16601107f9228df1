"""Sums of float32 tensors in one order, equal to the bit on every CPU and with every TensorFlow.

TensorFlow's own sums depend on both. XLA, which compiles for devices, has its own.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import tensorflow as tf

from ipulse_ops.lif.cpu.op_library import library
from ipulse_ops.unsupported import in_xla

_Gradient = Callable[[Any], Any]


def mean(values: Any, axis: Optional[int] = None) -> Any:
    """Return the float32 mean over the first axis, 0, the last one, -1, or over all elements."""
    if in_xla():
        return tf.reduce_mean(values, axis=axis)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def ordered(given: Any) -> Tuple[Any, _Gradient]:
        sums = library().ipulse_ordered_sum(values=_in_three(given, axis), squares=False)

        def gradient(upstream: Any) -> Any:
            return _spread(upstream * sums.share, given, axis)

        return tf.reshape(sums.means, _rest(given, axis)), gradient

    return ordered(values)


def total(values: Any) -> Any:
    """Return the float32 sum of all elements."""
    if in_xla():
        return tf.reduce_sum(values)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def ordered(given: Any) -> Tuple[Any, _Gradient]:
        return tf.cast(exact_total(given), tf.float32), lambda grad: _spread(grad, given, None)

    return ordered(values)


def exact_total(values: Any, squares: bool = False) -> Any:
    """Return the float64 sum of all elements or of their squares, without a gradient."""
    three = _in_three(tf.stop_gradient(values), None)
    return tf.reshape(library().ipulse_ordered_sum(values=three, squares=squares).sums, [])


def _in_three(values: Any, axis: Optional[int]) -> Any:
    """Return the tensor as [outer, n, inner], to be summed over n."""
    if axis is None:
        return tf.reshape(values, [1, -1, 1])
    shape = tf.shape(values)
    if axis == 0:
        return tf.reshape(values, [1, shape[0], tf.reduce_prod(shape[1:])])
    return tf.reshape(values, [tf.reduce_prod(shape[:-1]), shape[-1], 1])


def _rest(values: Any, axis: Optional[int]) -> Any:
    """Return the shape without the axis."""
    if axis is None:
        return []
    return tf.shape(values)[1:] if axis == 0 else tf.shape(values)[:-1]


def _spread(grad: Any, values: Any, axis: Optional[int]) -> Any:
    """Return the gradient of each element from that of its sum."""
    if axis == -1:
        grad = grad[..., tf.newaxis]
    return tf.broadcast_to(grad, tf.shape(values))
