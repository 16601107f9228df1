"""A network in the reference is its layers, each a network of its own, on top of each other."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.reference.delay import earlier, later
from ipulse_ops.lif.reference.network_pass import backward, forward
from ipulse_ops.lif.reference.trace import Gradients, LayerTrace
from ipulse_ops.lif.weights import by_layer, flat
from tests.ops.lif.variants import eventful, varied
from tests.ops.strategies import Problem

Weights = Tuple[np.ndarray, ...]


def one_layer(network: Network, layer: LIF) -> Network:
    """That layer alone, whatever came before it being its input."""
    return replace(network, inputs=layer.neurons, layers=(), readout=layer)


def by_layers(p: Problem) -> Tuple[List[LayerTrace], List[Gradients]]:
    """Each layer of a network with a spiking readout equals a network of one layer."""
    weights = [flat([one]) for one in by_layer(p.network, p.weights)]
    inputs, networks, entering, traces = p.network.inputs, [], [(p.ids, p.counts)], []
    for layer, own in zip(p.network.spiking, weights):
        networks.append(replace(one_layer(p.network, layer), inputs=inputs))
        inputs = layer.neurons
        trace = forward(networks[-1], own, *entering[-1], seed=p.seed)
        traces.append(trace)
        slots = trace.layers[0]
        delay = p.network.delay
        assert isinstance(delay, int)
        entering.append((later(slots.spike_ids, delay), later(slots.spike_counts, delay)))
    separate: List[Gradients] = []
    arriving = np.zeros(p.grad_spikes[-1].shape)
    membranes = [*p.grad_u, p.grad_membrane]
    for number in reversed(range(len(networks))):
        separate.insert(
            0,
            backward(
                *(networks[number], weights[number], *entering[number], traces[number]),
                grad_membrane=membranes[number],
                grad_spikes=[p.grad_spikes[number] + arriving],
            ),
        )
        arriving = earlier(separate[0].inputs, p.network.delay if number else 0)
    return [trace.layers[0] for trace in traces], separate


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("capacity", [None, 3])
@pytest.mark.parametrize("gate", [False, True])
def test_gradients_are_those_of_its_layers(gate: bool, capacity: int, delay: int) -> None:
    """Gradient-only neurons carry theirs from layer to layer."""
    fields = {"capacity": capacity, "policy": "top", "recurrent": True, "bias": True}
    network = varied(3, gate, True, fields, delay=delay, reset_gradient="none")
    p, trace = eventful(network, drops=capacity is not None)
    layers, separate = by_layers(p)
    only = 0
    for alone, inside in zip(layers, trace.layers):
        np.testing.assert_array_equal(alone.u, inside.u)
        only += int((inside.spike_counts[..., 1] - inside.spike_counts[..., 0]).sum())
    assert only > 0
    expected = backward(
        *(network, p.weights, p.ids, p.counts, trace, p.grad_membrane, p.grad_spikes, p.grad_u)
    )
    ours = [array for one in separate for array in one.weights]
    for one, baseline in zip(ours, expected.weights):
        np.testing.assert_allclose(one, baseline, rtol=1e-12, atol=1e-13 * np.abs(baseline).max())
    for layer, baselined in zip(separate, expected.constants):
        np.testing.assert_allclose(layer.constants[0].threshold, baselined.threshold, rtol=1e-11)
    np.testing.assert_allclose(separate[0].inputs, expected.inputs, rtol=1e-11, atol=1e-13)
