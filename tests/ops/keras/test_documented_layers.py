"""Each public Keras layer has an example that runs, and shows its arguments."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any, List

import pytest
import tensorflow as tf

from ipulse_ops import keras

LAYERS: List[Any] = [
    value
    for value in vars(keras).values()
    if inspect.isclass(value) and issubclass(value, tf.keras.layers.Layer)
]


def named(layer: Any) -> str:
    return str(layer.__name__)


@pytest.mark.parametrize("layer", LAYERS, ids=named)
def test_its_example_runs(layer: Any) -> None:
    module = importlib.import_module(layer.__module__)
    (example,) = doctest.DocTestFinder(recurse=False).find(layer, named(layer), module, globs={})
    assert example.examples, "the docstring has no example"
    said: List[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed == 0, said


@pytest.mark.parametrize("layer", LAYERS, ids=named)
def test_its_signature_has_inherited_arguments(layer: Any) -> None:
    shown = inspect.signature(layer).parameters
    assert {"backend", "tiles_per_ipu"} <= set(shown)
    kinds = [each.kind for each in shown.values()]
    assert kinds == sorted(kinds)
    assert ("reset" in shown) is (layer is not keras.LIFReadout)
