"""Losses of a regression by the float64 formulas, and their gradients through a whole network."""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference import network_pass
from ipulse_ops.lif.tensorflow_op import run_network
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.training import regression

SEED = 21
TIME, BATCH, OUTPUTS = 6, 4, 3

Outputs = Callable[[Any], Any]
# The function, and the same in NumPy.
KINDS = [
    (regression.outputs_by_step, lambda membrane: membrane.transpose(1, 0, 2)),
    (regression.mean_outputs, lambda membrane: membrane.mean(axis=0)),
    (regression.last_outputs, lambda membrane: membrane[-1]),
]


def drawn(formula: Outputs, random: np.random.RandomState) -> List[np.ndarray]:
    """Return a membrane and targets, float64."""
    membrane = random.randn(TIME, BATCH, OUTPUTS)
    return [membrane, random.randn(*formula(membrane).shape)]


@pytest.mark.old_python
@pytest.mark.parametrize(("ours", "formula"), KINDS)
def test_errors_are_the_formulas(ours: Outputs, formula: Outputs) -> None:
    membrane, targets = drawn(formula, np.random.RandomState(SEED))
    outputs = ours(tf.constant(membrane, tf.float32))
    errors = formula(membrane) - targets
    axes = tuple(range(1, errors.ndim))
    wanted = tf.constant(targets, tf.float32)
    np.testing.assert_allclose(outputs, formula(membrane), rtol=1e-5, atol=1e-6)
    squared, absolute = (f(outputs, wanted) for f in (_squared, _absolute))
    np.testing.assert_allclose(squared, np.square(errors).mean(axis=axes), rtol=1e-5)
    np.testing.assert_allclose(absolute, np.abs(errors).mean(axis=axes), rtol=1e-5)


def test_one_target_applies_to_all_steps() -> None:
    membrane, _ = drawn(KINDS[0][1], np.random.RandomState(SEED))
    outputs = regression.outputs_by_step(tf.constant(membrane, tf.float32))
    wanted = np.random.RandomState(SEED + 1).randn(BATCH, 1, OUTPUTS).astype(np.float32)
    each = np.broadcast_to(wanted, (BATCH, TIME, OUTPUTS))
    np.testing.assert_array_equal(_squared(outputs, wanted), _squared(outputs, each))


@pytest.mark.parametrize(("ours", "formula"), KINDS)
@pytest.mark.parametrize("recurrent", [False, True])
def test_gradients_of_the_weights_are_the_references(
    ours: Outputs, formula: Outputs, recurrent: bool
) -> None:
    """The float64 adjoint of the reference, given the loss's derivative by the membrane."""
    random = np.random.RandomState(SEED)
    layers = (LIF(neurons=12, second_threshold=0.2, recurrent=recurrent),)
    network = Network(inputs=8, layers=layers, readout=LeakyReadout(neurons=OUTPUTS))
    weights = [random.randn(*shape.shape).astype(np.float32) for shape in weight_shapes(network)]
    ids = np.tile(np.arange(8, dtype=np.int32), (TIME, BATCH, 1))
    counts = random.randint(0, 9, (TIME, BATCH)).astype(np.int32)
    targets = random.randn(*formula(np.zeros((TIME, BATCH, OUTPUTS))).shape).astype(np.float32)

    variables = [tf.Variable(each) for each in weights]
    with tf.GradientTape() as tape:
        out = run_network(network, variables, ids, counts)
        loss = tf.reduce_mean(_squared(ours(out.membrane), targets))
    found = tape.gradient(loss, variables)

    trace = network_pass.forward(network, weights, ids, counts)
    errors = 2 * (formula(trace.membrane) - targets) / targets.size
    grad_membrane = {
        regression.outputs_by_step: lambda: errors.transpose(1, 0, 2),
        regression.mean_outputs: lambda: np.tile(errors / TIME, (TIME, 1, 1)),
        regression.last_outputs: lambda: np.concatenate(
            [np.zeros((TIME - 1, BATCH, OUTPUTS)), errors[np.newaxis]]
        ),
    }[ours]()
    expected = network_pass.backward(network, weights, ids, counts, trace, grad_membrane)
    for ours_, reference in zip(found, expected.weights):
        np.testing.assert_allclose(ours_, reference, rtol=1e-4, atol=1e-6)
        assert np.abs(reference).max() > 1e-4


def _squared(outputs: Any, targets: Any) -> Any:
    return regression.squared_error(outputs, targets)


def _absolute(outputs: Any, targets: Any) -> Any:
    return regression.absolute_error(outputs, targets)
