"""A traced TensorFlow function, called with the least work in Python."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, List

import tensorflow as tf


class DirectCall:
    """What a tf.function computes, for steps that take a few milliseconds.

    Each call of a tf.function looks for the graph that fits its arguments and tells gradient tapes
    of its variables, which is felt beside kernels that have filled the caches. Here the graph is
    found once: arguments are tensors or arrays of the signature's types and shapes, and no gradient
    passes through. Quickest is a function that gives a plain tuple or list of tensors.
    """

    def __init__(self, function: Any, *signature: Any) -> None:
        """function: a tf.function that gives a tensor, a structure of them, or None; signature:
        its arguments' tf.TensorSpecs, if it was not made with an input_signature."""
        self._traced, self._signature = function, signature
        self._graph: Any = None
        self._fitting: List[Any] = []  # shapes that did, of the call before

    def trace(self) -> None:
        """Build the graph now instead of at the first call.

        Raises what tracing raises; ValueError if the function gives None beside tensors.
        """
        graph = self._traced.get_concrete_function(*self._signature)
        self._captured = list(graph.captured_inputs)
        inputs = graph.inputs[: len(graph.inputs) - len(self._captured)]
        self._shapes = [tensor.shape for tensor in inputs]
        self._types = [tensor.dtype for tensor in graph.outputs]
        structure = graph.structured_outputs
        if self._types and len(tf.nest.flatten(structure)) != len(self._types):
            raise ValueError("a function that is called directly may not give None beside tensors")
        self._packed = _packing(structure)
        self._graph = graph

    def __call__(self, *arguments: Any) -> Any:
        """Raises what `trace` and the function raise; ValueError if the number of tensors or their
        shapes are not the signature's; tf.errors.InvalidArgumentError if their types are not."""
        if self._graph is None:
            self.trace()
        tensors = tf.nest.flatten(arguments)
        shapes = [tensor.shape for tensor in tensors]
        if shapes != self._fitting:
            self._check(shapes)
            self._fitting = shapes
        found = tf.raw_ops.StatefulPartitionedCall(
            args=tensors + self._captured, Tout=self._types, f=self._graph
        )
        return self._packed(found) if self._types else None

    def _check(self, shapes: List[Any]) -> None:
        if len(shapes) != len(self._shapes):
            raise ValueError(f"the function takes {len(self._shapes)} tensors; got {len(shapes)}")
        for number, (given, shape) in enumerate(zip(shapes, self._shapes)):
            if not shape.is_compatible_with(given):
                raise ValueError(f"argument {number} must have shape {shape}; got {given}")


def _packing(structure: Any) -> Callable[[List[Any]], Any]:
    """What makes the structure of its tensors. TensorFlow's own takes as long as a small kernel."""
    if type(structure) in (tuple, list) and not any(map(tf.nest.is_nested, structure)):
        return type(structure)
    return partial(tf.nest.pack_sequence_as, structure)
