"""Optimizers with the arguments of Graphcore's, computed by those of Keras."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect

_DTYPES = ("m_dtype", "v_dtype", "vhat_dtype", "momentum_accum_dtype", "rms_dtype")
_MORE = ("optimizer_compute_precisions", "accum_dtype", "outline_apply_gradients", "debiasing")


def _accepted(optimizer: str, named: Any) -> Any:
    for name in (*_DTYPES, *_MORE, "outline_apply_gradients_kwargs"):
        if named.pop(name, None) is not None:
            has_no_effect(f"{optimizer}({name}=)")
    return named


class AdamIpuOptimizer(tf.keras.optimizers.Adam):  # type: ignore[misc] # TensorFlow has no types
    """Adam."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted("AdamIpuOptimizer", named))


class SGDIpuOptimizer(tf.keras.optimizers.SGD):  # type: ignore[misc] # TensorFlow has no types
    """Gradient descent."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted("SGDIpuOptimizer", named))


class RMSpropIpuOptimizer(tf.keras.optimizers.RMSprop):  # type: ignore[misc] # TensorFlow has no types
    """RMSprop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the optimizer; types of its state have no effect."""
        super().__init__(*arguments, **_accepted("RMSpropIpuOptimizer", named))


def ALSOptimizer(optimizer: Any, **named: Any) -> Any:
    """Return the optimizer: losses need no scale in float32."""
    has_no_effect("ALSOptimizer (losses are not scaled)")
    return optimizer


def __getattr__(name: str) -> Any:
    if name == "ALSGradientAccumulationOptimizer":
        raise NotImplementedError(
            f"{name} is not emulated. Use set_gradient_accumulation_options() of a Keras model, or "
            "GradientAccumulationOptimizerV2 in a session"
        )
    if name in ("LAMBIpuOptimizer", "LAMB"):
        raise NotImplementedError(
            f"{name} is not emulated. Use AdamIpuOptimizer, or an implementation in Python"
        )
    raise AttributeError(name)
