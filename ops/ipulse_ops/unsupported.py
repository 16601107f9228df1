"""Gradients of gradients, which the ops do not have."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def refuse_second_order(*gradient_ops: str) -> None:
    """Makes a gradient of these ops, which are gradients themselves, a NotImplementedError."""
    for name in gradient_ops:
        tf.RegisterGradient(name)(_refused)


def _refused(op: Any, *_: Any) -> Any:
    raise NotImplementedError(
        f"{op.type} is a gradient and has none itself: the spiking ops have no gradients of "
        "gradients; tf.stop_gradient on the inner gradient leaves them out"
    )
