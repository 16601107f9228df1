"""`ipu.ipu_compiler`: programs of a session."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow as tf

from ipu_tensorflow_emulator.ipu.loops import separate
from ipu_tensorflow_emulator.process import host_ops, on_device, record_session_program


def compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """Build a computation as one program.

    Returns a list of tensors, a tuple for a single one, or an operation if there is no tensor.
    Raises TypeError for inputs that are no list.
    """
    if inputs is not None and not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list; it is a {type(inputs).__name__}")
    graph = tf.compat.v1.get_default_graph()
    before = host_ops(graph)
    with on_device(), _resources():
        outputs = computation(*[_tensor(value) for value in inputs or []])
        record_session_program(
            f"ipu_compiler.compile({getattr(computation, '__name__', 'computation')})",
            host_ops(graph) - before,
        )
        if isinstance(outputs, dict) or _is_nested(outputs):
            return tf.nest.map_structure(tf.identity, outputs)
        tensors, operations = separate(outputs)
        if not tensors:
            return tf.group(*operations)
        with tf.control_dependencies(operations):
            results = [tf.identity(tensor) for tensor in tensors]
    return results if isinstance(outputs, (list, tuple)) else tuple(results)


def _tensor(value: Any) -> Any:
    return (
        value if hasattr(value, "dtype") and hasattr(value, "op") else tf.convert_to_tensor(value)
    )


def _is_nested(outputs: Any) -> bool:
    each = outputs if isinstance(outputs, (list, tuple)) else []
    return any(isinstance(value, (list, tuple, dict)) for value in each)


def _resources() -> Any:
    return tf.compat.v1.variable_scope(tf.compat.v1.get_variable_scope(), use_resource=True)
