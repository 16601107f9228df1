"""XLA compiles TensorFlow's own ops and none of ours: who asks for both is told so."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.ops import control_flow_util  # nothing public tells it


def refuse_xla() -> None:
    """Raises NotImplementedError while a function is traced that XLA is to compile."""
    if tf.executing_eagerly():
        return
    if control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
        raise NotImplementedError(
            "XLA knows none of these ops: leave jit_compile off, in model.compile and tf.function"
        )
