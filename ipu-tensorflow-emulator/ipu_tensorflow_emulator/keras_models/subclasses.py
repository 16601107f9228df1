"""Models that override call(): the graph of their layers' calls, of which a pipeline has stages."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipu_tensorflow_emulator.keras_models.installed import keras_of

_GRAPH = "_ipu_graph"
_SHAPE = "_ipu_build_shape"


def graph_of(model: Any) -> Any:
    """Return the functional model of a model's layers, or None before it is known."""
    return model.__dict__.get(_GRAPH)


def remember_shape(model: Any, shape: Any) -> None:
    """Store what build() got; a graph of an earlier call of it is dropped."""
    model.__dict__[_SHAPE] = shape
    model.__dict__.pop(_GRAPH, None)


def trace_built(model: Any) -> None:
    """Store the graph for the shape that build() got. Raises RuntimeError before build()."""
    if graph_of(model) is None:
        later = getattr(model, "_build_shapes_dict", None) or {}  # of Keras 3
        shape = model.__dict__.get(_SHAPE) or next(iter(later.values()), None)
        if shape is None:
            raise RuntimeError(
                "Cannot get pipeline stage assignments for model "
                f"`{model.name}` which has not been built yet. Call build() with the shape of "
                "its inputs first"
            )
        trace(model, _specs(shape))


def trace(model: Any, specs: Any) -> None:
    """Call the layers with symbolic inputs, and store the graph of these calls.

    specs: a tf.TensorSpec for each input.
    """
    keras = keras_of(model)
    inputs = tf.nest.map_structure(
        lambda each: keras.Input(each.shape[1:], batch_size=each.shape[0], dtype=each.dtype.name),
        specs,
    )
    model.__dict__[_GRAPH] = keras.Model(inputs, model.call(inputs))


def specs_of(x: Any, batch_size: int) -> Any:
    """Return a tf.TensorSpec for each input of what fit(), evaluate() or predict() got."""
    if isinstance(x, tf.data.Dataset):
        element = x.element_spec
        return element[0] if isinstance(element, tuple) else element
    return tf.nest.map_structure(lambda each: _narrow([batch_size, *each.shape[1:]], each.dtype), x)


def _narrow(shape: Any, dtype: Any) -> tf.TensorSpec:
    found = tf.as_dtype(dtype)
    return tf.TensorSpec(shape, tf.float32 if found == tf.float64 else found)


def _specs(shape: Any) -> Any:
    """Return specs of what build() takes: a shape, or a list or dictionary of them."""
    if isinstance(shape, dict):
        return {name: _specs(each) for name, each in shape.items()}
    is_shape = isinstance(shape, tf.TensorShape) or all(
        each is None or isinstance(each, int) for each in shape
    )
    return tf.TensorSpec(shape, tf.float32) if is_shape else [_specs(each) for each in shape]
