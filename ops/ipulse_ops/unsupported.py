"""Guards against uses of the ops that TensorFlow offers and they do not support."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.ops import control_flow_util  # TensorFlow has no public test for XLA


def refuse_second_order(*gradient_ops: str) -> None:
    """Register a gradient of the named gradient ops that raises NotImplementedError."""
    for name in gradient_ops:
        tf.RegisterGradient(name)(_refuse)


def without_gradient(op: Any, derivative: Any) -> Any:
    """Return a derivative that an op computed; a gradient of it raises NotImplementedError."""

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def guarded(given: Any) -> Any:
        return tf.identity(given), lambda _: _refuse(op)

    return guarded(derivative)


def in_xla() -> bool:
    """Return True while XLA's version of a function is traced."""
    if tf.executing_eagerly():
        return False
    graph = tf.compat.v1.get_default_graph()
    return bool(control_flow_util.GraphOrParentsInXlaContext(graph))


def refuse_xla() -> None:
    """Raise NotImplementedError while XLA's version of a function is traced."""
    if in_xla():
        raise NotImplementedError(
            "XLA cannot compile the spiking ops: remove jit_compile=True from model.compile and "
            "tf.function"
        )


def _refuse(op: Any, *_: Any) -> Any:
    raise NotImplementedError(
        f"{op.type} computes a gradient and has no gradient of its own: second-order gradients are "
        "not supported; use tf.stop_gradient on the inner gradient"
    )
