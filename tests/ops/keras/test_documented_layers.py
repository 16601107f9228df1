"""Each public Keras layer has an example that runs, and shows its arguments."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from typing import Any, Dict, List, Set

import pytest
import tensorflow as tf

from ipulse_ops import keras
from ipulse_ops.keras import arguments

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


HIDDEN, READOUT = keras.LIF(neurons=2), keras.LeakyReadout(neurons=2)
# Arguments of the constructors, to compare with what the layers say about themselves.
MADE: Dict[str, Dict[str, Any]] = {
    "DenseLIFCell": {"inputs": 3, "layers": [HIDDEN], "readout": READOUT},
    "LIFConv2D": {"input_planes": (4, 4, 1), "filters": 2, "kernel_size": 3},
    "LIFLayer": {"inputs": 3, "layer": HIDDEN},
    "LIFReadout": {"inputs": 3, "readout": READOUT},
    "MultiLIF": {"inputs": 3, "layers": [HIDDEN], "readout": READOUT},
    "SparseLIFCell": {"inputs": 3, "layers": [HIDDEN], "readout": READOUT},
}
OF_KERAS = {"batch_input_shape", "dtype", "frozen", "name", "trainable"}


@pytest.mark.parametrize("layer", LAYERS, ids=named)
def test_its_signature_has_all_that_its_configuration_has(layer: Any) -> None:
    shown = set(inspect.signature(layer).parameters)
    stored = set(layer(**MADE[named(layer)]).get_config())
    assert stored - OF_KERAS == shown - OF_KERAS - {"kwargs"}


@pytest.mark.parametrize("layer", [keras.MultiLIF, keras.DenseLIFCell], ids=named)
def test_editors_know_the_arguments_of_base_classes(layer: Any) -> None:
    """The types of `**kwargs` have the same names as the signature."""
    tree = ast.parse(inspect.getsource(arguments))
    fields: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            fields |= {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
    own = {*MADE[named(layer)], "kwargs"}
    assert set(inspect.signature(layer).parameters) - own <= fields
    if layer is keras.MultiLIF:
        assert fields - OF_KERAS == set(inspect.signature(layer).parameters) - own - {"trainable"}
