"""The operations of a dense time step, in TensorFlow's own ops.

XLA compiles them for an IPU. ipulse_ops.lif.poplar.step_ops has the same operations for emulated
IPUs.
"""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.keras.surrogates import phi
from ipulse_ops.surrogate import Surrogate


def dense_matmul(spikes: Any, weights: Any) -> Any:
    """Multiply spikes `[batch, senders]` by weights `[senders, neurons]`, both float32."""
    return tf.linalg.matmul(spikes, weights)


def emit_spikes(
    u: Any, threshold: Any, second_threshold: Optional[Any], surrogate: Surrogate
) -> Any:
    """Return float32 1 where u `[batch, neurons]` is above its threshold `[neurons]`, else 0.

    The derivative with respect to `u - threshold` is the surrogate where u is above one of its
    thresholds, or everywhere if there is no second threshold.
    """
    spikes = u > threshold
    carries = None if second_threshold is None else tf.logical_or(u > second_threshold, spikes)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def emitted(x: Any) -> Any:
        def gradient(grad: Any) -> Any:
            slope = phi(surrogate, x)
            return grad * (slope if carries is None else tf.where(carries, slope, 0.0))

        return tf.cast(spikes, tf.float32), gradient

    return emitted(u - threshold)
