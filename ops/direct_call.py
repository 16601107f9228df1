"""A traced TensorFlow function, called with the least work in Python."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class DirectCall:
    """What a tf.function computes, for steps that take a few milliseconds.

    Each call of a tf.function looks for the graph that fits its arguments and tells gradient tapes
    of its variables, which is felt beside kernels that have filled the caches. Here the graph is
    found once: arguments are tensors or arrays of the signature's types and shapes, and no gradient
    passes through.
    """

    def __init__(self, function: Any, *signature: Any) -> None:
        """function: a tf.function that gives a tensor, a structure of them, or None; signature:
        its arguments' tf.TensorSpecs, if it was not made with an input_signature."""
        self._traced, self._signature = function, signature
        self._graph: Any = None

    def trace(self) -> None:
        """Build the graph now instead of at the first call.

        Raises what tracing raises; ValueError if the function gives None beside tensors.
        """
        graph = self._traced.get_concrete_function(*self._signature)
        self._captured = list(graph.captured_inputs)
        inputs = graph.inputs[: len(graph.inputs) - len(self._captured)]
        self._shapes = [tensor.shape for tensor in inputs]
        self._types = [tensor.dtype for tensor in graph.outputs]
        self._structure = graph.structured_outputs
        if self._types and len(tf.nest.flatten(self._structure)) != len(self._types):
            raise ValueError("a function that is called directly may not give None beside tensors")
        self._graph = graph

    def __call__(self, *arguments: Any) -> Any:
        """Raises what `trace` and the function raise; ValueError if the number of tensors or their
        shapes are not the signature's; tf.errors.InvalidArgumentError if their types are not."""
        if self._graph is None:
            self.trace()
        tensors = tf.nest.flatten(arguments)
        if len(tensors) != len(self._shapes):
            raise ValueError(f"the function takes {len(self._shapes)} tensors; got {len(tensors)}")
        for number, (tensor, shape) in enumerate(zip(tensors, self._shapes)):
            if not shape.is_compatible_with(tensor.shape):
                raise ValueError(f"argument {number} must have shape {shape}; got {tensor.shape}")
        found = tf.raw_ops.StatefulPartitionedCall(
            args=tensors + self._captured, Tout=self._types, f=self._graph
        )
        if not self._types:
            return None
        return tf.nest.pack_sequence_as(self._structure, found)
