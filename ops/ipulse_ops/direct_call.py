"""Calls a traced TensorFlow function with little overhead in Python."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, List

import tensorflow as tf


class DirectCall:
    """Runs the graph of a tf.function, for steps that take a few milliseconds.

    Each call of a tf.function looks up the graph that fits its arguments and reports its variables
    to gradient tapes. Here the graph is looked up once: arguments must be tensors or arrays of the
    signature's types and shapes, and no gradient passes through.

    The graph runs as it was written. TensorFlow's graph optimiser (Grappler) would replace
    formulas by others that round differently, by its release and by what else a graph computes.
    """

    def __init__(self, function: Any, *signature: Any) -> None:
        """Wrap a function without tracing it.

        function: a tf.function that returns a tensor, a structure of tensors, or None.
        signature: tf.TensorSpecs of its arguments, if it has no input_signature.
        """
        self._traced, self._signature = function, signature
        self._graph: Any = None
        self._fitting: List[Any] = []  # shapes of the previous call, which fit

    def trace(self) -> None:
        """Build the graph now instead of at the first call.

        Raises what tracing raises; ValueError if the function returns None among tensors.
        """
        graph = self._traced.get_concrete_function(*self._signature)
        self._captured = list(graph.captured_inputs)
        inputs = graph.inputs[: len(graph.inputs) - len(self._captured)]
        self._shapes = [tensor.shape for tensor in inputs]
        self._types = [tensor.dtype for tensor in graph.outputs]
        structure = graph.structured_outputs
        if self._types and len(tf.nest.flatten(structure)) != len(self._types):
            raise ValueError("a directly called function must not return None among tensors")
        self._packed = _packing(structure)
        self._graph = graph

    def __call__(self, *arguments: Any) -> Any:
        """Run the graph on the arguments and return its result.

        Raises what `trace` and the function raise; ValueError if the number of tensors or a shape
        differs from the signature; tf.errors.InvalidArgumentError if a type does.
        """
        if self._graph is None:
            self.trace()
        tensors = tf.nest.flatten(arguments)
        shapes = [tensor.shape for tensor in tensors]
        if shapes != self._fitting:
            self._check(shapes)
            self._fitting = shapes
        found = tf.raw_ops.StatefulPartitionedCall(
            args=tensors + self._captured,
            Tout=self._types,
            f=self._graph,
            config_proto=_without_optimiser(),
        )
        return self._packed(found) if self._types else None

    def _check(self, shapes: List[Any]) -> None:
        if len(shapes) != len(self._shapes):
            raise ValueError(f"the function takes {len(self._shapes)} tensors; got {len(shapes)}")
        for number, (given, shape) in enumerate(zip(shapes, self._shapes)):
            if not shape.is_compatible_with(given):
                raise ValueError(f"argument {number} must have shape {shape}; got {given}")


@lru_cache(maxsize=None)
def _without_optimiser() -> bytes:
    """Return the settings of a call without Grappler, which would rewrite its graph."""
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    serialized: bytes = config.SerializeToString()
    return serialized


def _packing(structure: Any) -> Callable[[List[Any]], Any]:
    """Return the function that packs tensors into the structure."""
    if type(structure) in (tuple, list) and not any(map(tf.nest.is_nested, structure)):
        return type(structure)
    return partial(tf.nest.pack_sequence_as, structure)


def traced(function: Callable[..., Any], signature: List[Any]) -> DirectCall:
    """Trace without AutoGraph, which would triple the time to the first step."""
    return DirectCall(tf.function(function, input_signature=signature, autograph=False))
