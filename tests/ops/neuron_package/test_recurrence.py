"""Recurrent layers of packages: spikes and gradients are those of one step after the other."""

from __future__ import annotations

import importlib.util
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.equations.neuron import NeuronParameter
from ipulse_ops.neuron_package.calls import BrokenPackage, PackageCalls
from ipulse_ops.neuron_package.keras_layer import PackageLayer
from ipulse_ops.neuron_package.layer_neurons import LayerNeurons, PackageNeuron
from ipulse_ops.sparse import sparse_to_dense
from tests.ops.neuron_package.wheels import EXAMPLE

STEPS, BATCH, SENDERS, NEURONS = 12, 3, 5, 6


def example() -> Any:
    """The module of the example."""
    found = importlib.util.spec_from_file_location("coupled_dendrites_source", str(EXAMPLE))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


MODULE = example()
VALUES = {"decay": 0.6, "coupling": 0.1, "gain": 0.5}


def made(package: Any = None, recurrent: bool = True) -> PackageLayer:
    package = MODULE.CoupledDendrites() if package is None else package
    parameters = tuple(
        NeuronParameter(each.name, VALUES[each.name], each.minimum, each.maximum, True, True)
        for each in package.parameters
    )
    neurons = LayerNeurons(
        PackageNeuron("example", parameters), NEURONS, PackageCalls(package), recurrent
    )
    return PackageLayer(SENDERS, neurons, bias=True, name="layer_1")


def given() -> Tuple[List[np.ndarray], Any, Any]:
    """Weights, recurrent weights and bias; ids and counts of input spikes."""
    rng = np.random.default_rng(2)
    shapes = [(SENDERS, NEURONS), (NEURONS, NEURONS), (NEURONS,)]
    arrays = [rng.normal(0.3, 1.0, shape).astype(np.float32) for shape in shapes]
    first = rng.integers(0, SENDERS, (STEPS, BATCH, 1))
    ids = np.concatenate([first, (first + 2) % SENDERS], axis=2).astype(np.uint16)
    return arrays, ids, rng.integers(0, 3, (STEPS, BATCH)).astype(np.int32)


def by_spikes() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(STEPS, BATCH, NEURONS))


@tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
def spike(x: Any) -> Any:
    phi = 1 / tf.square(1 + MODULE.SLOPE * tf.abs(x))
    return tf.cast(x > 0, x.dtype), lambda grad: grad * phi


def reference() -> Tuple[np.ndarray, List[np.ndarray]]:
    """Spikes and gradients by TensorFlow's automatic differentiation in float64."""
    arrays, ids, counts = given()
    variables = [tf.Variable(array, dtype=tf.float64) for array in arrays]
    own = {name: tf.Variable(np.full(NEURONS, value)) for name, value in VALUES.items()}
    dense = tf.cast(sparse_to_dense(ids.astype(np.float32), counts, SENDERS), tf.float64)
    sent: List[Any] = []
    with tf.GradientTape() as tape:
        weights, recurrent, bias = variables
        d = u = s = tf.zeros([BATCH, NEURONS], tf.float64)
        for now in tf.unstack(dense @ weights + bias):
            now = now + s @ recurrent
            steps = d[:, 1:] - d[:, :-1]
            near = tf.pad(steps, [[0, 0], [0, 1]]) - tf.pad(steps, [[0, 0], [1, 0]])
            d = own["decay"] * d + now + own["coupling"] * near
            kept = MODULE.KEPT * u * (1 - tf.stop_gradient(s))
            u = kept + own["gain"] * d / (1 + tf.abs(d))
            s = spike(u - MODULE.THRESHOLD)
            sent.append(s)
        spikes = tf.stack(sent)
        loss = tf.reduce_sum(spikes * by_spikes())
    gradients = tape.gradient(loss, [*variables, *own.values()])
    return spikes.numpy(), [each.numpy() for each in gradients]


def results(layer: PackageLayer, arrays: List[np.ndarray]) -> Tuple[np.ndarray, List[np.ndarray]]:
    _, ids, counts = given()
    layer.set_kernels(arrays)
    with tf.GradientTape() as tape:
        run = layer.run(ids, counts, True)
        spikes = sparse_to_dense(run.ids, run.counts, NEURONS)
        loss = tf.reduce_sum(spikes * by_spikes().astype(np.float32))
    gradients = tape.gradient(loss, [*layer.kernels, *layer._trained])
    return spikes.numpy(), [each.numpy() for each in gradients]


def test_spikes_and_gradients_are_those_of_the_reference() -> None:
    known, exact = reference()
    spikes, gradients = results(made(), given()[0])
    assert 0.1 < known.mean() < 0.9
    np.testing.assert_array_equal(spikes, known)
    for one, other in zip(gradients, exact):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


def test_recurrent_weights_of_zero_change_no_bit() -> None:
    weights, recurrent, bias = given()[0]
    spikes, gradients = results(made(), [weights, np.zeros_like(recurrent), bias])
    known, others = results(made(recurrent=False), [weights, bias])
    np.testing.assert_array_equal(spikes, known)
    for one, other in zip([gradients[0], *gradients[2:]], others):
        np.testing.assert_array_equal(one, other)


def test_a_package_that_sees_later_currents_is_named() -> None:
    class Foreseeing(MODULE.CoupledDendrites):  # type: ignore[name-defined, misc]
        """All neurons spike in all steps if the last current is small."""

        def forward(self, currents: np.ndarray, parameters: Dict[str, np.ndarray]) -> Any:
            _, saved = super().forward(currents, parameters)
            return np.full_like(currents, currents[-1].mean() < 1), saved

    layer = made(Foreseeing())
    weights, recurrent, bias = given()[0]
    with pytest.raises(BrokenPackage, match="later currents"):
        results(layer, [np.zeros_like(weights), np.ones_like(recurrent), np.zeros_like(bias)])
