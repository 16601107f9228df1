"""The reference inside TensorFlow: what it adds is graphs, gradients and given constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.neuron_constants import per_neuron
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_ops.lif.run_options import RunOptions
from tests.ops.lif.variants import eventful, varied
from tests.ops.strategies import Problem

pytestmark = pytest.mark.old_python

NETWORKS: Dict[str, Network] = {
    "all": varied(
        2,
        spiking_readout=True,
        fields={
            "recurrent": True,
            "bias": True,
            "synapse": True,
            "policy": "cyclic",
            "adapts": True,
        },
        reset="subtract",
        reset_gradient="none",
        reset_on="emission",
        delay=1,
    ),
    "plain": varied(2, gate=False),
}


def given_of(network: Network) -> List[Dict[str, Any]]:
    """Every constant that the layers have, as a tensor."""
    names = (*CONSTANTS, "second_threshold")
    return [
        {
            name: tf.constant(per_neuron(getattr(layer, name), layer.neurons, name), tf.float32)
            for name in names
            if getattr(layer, name, None) is not None
        }
        for layer in (*network.layers, network.readout)
    ]


def run(problem: Problem, traced: bool) -> Tuple[Any, Any]:
    """The outputs, and the gradients by weights, ids and constants."""
    p = problem

    def outputs_and_gradients() -> Any:
        weights = [tf.constant(matrix) for matrix in p.weights]
        ids, given = tf.constant(p.ids, tf.float32), given_of(p.network)
        with tf.GradientTape() as tape:
            tape.watch([weights, ids, given])
            options = RunOptions(constants=given, seed=p.seed, return_membranes=True)
            out = run_reference(p.network, weights, ids, p.counts, options)
            loss = tf.reduce_sum(out.membrane * p.grad_membrane)
            for spike_ids, grad in zip(out.spike_ids, p.grad_spikes):
                loss += tf.reduce_sum(spike_ids * grad)
            for membrane, grad in zip(out.membranes, p.grad_u):
                loss += tf.reduce_sum(membrane * grad)
        return out, tape.gradient(loss, [weights, ids, given])

    return tf.function(outputs_and_gradients)() if traced else outputs_and_gradients()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_gradients_are_the_references(name: str, traced: bool) -> None:
    problem, _ = eventful(NETWORKS[name], drops=False)
    p = problem
    # A constant that is given is a float32 number.
    layers = [
        {key: np.asarray(value).astype(float) for key, value in given.items()}
        for given in given_of(p.network)
    ]
    baseline_network = _with_constants(p.network, layers)
    trace = reference.forward(baseline_network, p.weights, p.ids, p.counts, seed=p.seed)
    grads = reference.backward(
        *(
            baseline_network,
            p.weights,
            p.ids,
            p.counts,
            trace,
            p.grad_membrane,
            p.grad_spikes,
            p.grad_u,
        )
    )
    out, (by_weights, by_ids, by_constants) = run(problem, traced)
    np.testing.assert_array_equal(out.membrane, trace.membrane.astype(np.float32))
    for number, layer in enumerate(trace.layers):
        np.testing.assert_array_equal(out.spike_ids[number], layer.spike_ids)
        np.testing.assert_array_equal(out.spike_counts[number], layer.spike_counts)
        np.testing.assert_array_equal(out.dropped[number], layer.dropped)
    for ours, theirs in zip(by_weights, grads.weights):
        np.testing.assert_array_equal(ours, theirs.astype(np.float32))
    np.testing.assert_array_equal(by_ids, grads.inputs.astype(np.float32))
    for ours, constants in zip(by_constants, grads.constants):
        for key, grad in ours.items():
            expected = (
                np.zeros(grad.shape) if key == "second_threshold" else getattr(constants, key)
            )
            np.testing.assert_array_equal(grad, expected.astype(np.float32))
    assert np.abs(by_constants[0]["decay"]).max() > 0


def _with_constants(network: Network, layers: List[Dict[str, Any]]) -> Network:
    changed: List[Any] = [
        replace(layer, **constants)
        for layer, constants in zip((*network.layers, network.readout), layers)
    ]
    return replace(network, layers=tuple(changed[:-1]), readout=changed[-1])


def test_shapes_are_known_while_tracing() -> None:
    network = varied(1)
    problem, _ = eventful(network, drops=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 2, None], tf.int32)])
    def traced(ids: Any) -> Any:
        out = run_reference(network, problem.weights, ids, problem.counts)
        assert out.membrane.shape.as_list() == [None, 2, 3]
        assert out.spike_ids[0].shape.as_list() == [None, 2, 9]
        return out.membrane

    traced(problem.ids)


def test_wrong_ids_are_named() -> None:
    network = Network(inputs=2, layers=(), readout=LIF(neurons=1))
    with pytest.raises(ValueError, match=r"ids\[0, 0, 0\] is 2"):
        run_reference(network, [np.ones((2, 1), np.float32)], [[[2]]], [[1]])
