"""The penalty of membranes by the float64 formula, and its gradient through a whole network."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference import network_pass
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import run_network
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.training.membrane_bounds import membrane_bound

SEED = 22
TIME, BATCH, CHANNELS = 7, 4, 8
LOW, HIGH = -0.4, 0.6


def excess(membranes: np.ndarray) -> np.ndarray:
    """Return how far membranes are above the bounds, negative below."""
    over: np.ndarray = np.maximum(membranes - HIGH, 0) - np.maximum(LOW - membranes, 0)
    return over


@pytest.mark.old_python
def test_is_the_formula_over_the_samples_that_count() -> None:
    membranes = np.random.RandomState(SEED).randn(TIME, BATCH, 5)
    by_sample = np.square(excess(membranes)).mean(axis=(0, 2))
    found = membrane_bound(tf.constant(membranes, tf.float32), LOW, HIGH)
    np.testing.assert_allclose(found, by_sample.mean(), rtol=1e-5)
    mask = tf.constant([1.0, 0.0, 1.0, 0.0])
    found = membrane_bound(tf.constant(membranes, tf.float32), LOW, HIGH, mask)
    np.testing.assert_allclose(found, by_sample[[0, 2]].mean(), rtol=1e-5)


@pytest.mark.parametrize("memory", ["slots", "recompute"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_gradients_of_the_weights_are_the_references(layer: int, memory: str) -> None:
    """The penalty of two hidden layers and the readout, at steps without a slot, too."""
    random = np.random.RandomState(SEED)
    layers = (LIF(neurons=12, second_threshold=0.5, recurrent=True), LIF(neurons=9, capacity=3))
    network = Network(inputs=CHANNELS, layers=layers, readout=LeakyReadout(neurons=3))
    weights = [random.randn(*shape.shape).astype(np.float32) for shape in weight_shapes(network)]
    ids = np.tile(np.arange(CHANNELS, dtype=np.int32), (TIME, BATCH, 1))
    counts = random.randint(0, CHANNELS + 1, (TIME, BATCH)).astype(np.int32)

    variables = [tf.Variable(each) for each in weights]
    with tf.GradientTape() as tape:
        out = run_network(
            network, variables, ids, counts, RunOptions(memory=memory, return_membranes=True)
        )
        penalty = membrane_bound([*out.membranes, out.membrane][layer], LOW, HIGH)
    zero = tf.UnconnectedGradients.ZERO  # of the layers after the bound one
    found = tape.gradient(penalty, variables, unconnected_gradients=zero)

    trace = network_pass.forward(network, weights, ids, counts)
    membranes = [*(each.u for each in trace.layers), trace.membrane]
    grads = [np.zeros(each.shape) for each in membranes]
    grads[layer] = 2 * excess(membranes[layer]) / membranes[layer].size
    expected = network_pass.backward(
        network, weights, ids, counts, trace, grads[-1], grad_u=grads[:-1]
    )
    assert np.abs(expected.weights[0]).max() > 1e-4
    for ours, reference in zip(found, expected.weights):
        np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-6)
