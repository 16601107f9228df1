"""LIFLayers on top of each other are one MultiLIF, in what they do and in what they learn."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, LIFLayer, LIFReadout, MultiLIF
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.surrogate import SuperSpike

pytestmark = pytest.mark.old_python

NEURONS = (30, 21, 16)
VARIANTS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "gated": {"second_threshold": 0.25},
    "capacity": {"second_threshold": 0.0, "capacity": 6},
    "everything": {
        "second_threshold": 0.5,
        "capacity": 9,
        "policy": "top",
        "recurrent": True,
        "bias": True,
        "synapse_decay": 0.5,
    },
}
OPTIONS: Dict[str, Any] = {"surrogate": SuperSpike(slope=4.0), "reset_gradient": "none"}


def spikes() -> Tuple[np.ndarray, np.ndarray]:
    rng = np.random.Generator(np.random.PCG64(1))
    return dense_to_sparse(rng.random((14, 5, 20)) < 0.4)


def network(fields: Dict[str, Any], **options: Any) -> MultiLIF:
    rng = np.random.Generator(np.random.PCG64(2))
    net = MultiLIF(
        inputs=20,
        layers=[LIF(neurons=n, decay=0.75, gain=4.0, **fields) for n in NEURONS],
        readout=LeakyReadout(neurons=4, decay=0.75),
        **OPTIONS,
        **options,
    )
    net.set_kernels([rng.normal(0.05, 0.35, kernel.shape) for kernel in net.kernels])
    return net


def stack(net: MultiLIF, **options: Any) -> List[Any]:
    """The same layers with the same weights, one by one; spikes take the same steps."""
    inputs, layers, kernels = net.network.sizes, [], net.kernels
    for number, layer in enumerate((*net.network.layers, net.network.readout)):
        kind = LIFLayer if isinstance(layer, LIF) else LIFReadout
        own = {} if kind is LIFReadout else OPTIONS
        delay = net.network.delays[number]
        layers.append(kind(inputs[number], layer, delay=delay, **own, **options))
        count = len(layers[-1].kernels)
        layers[-1].set_kernels(kernels[:count])
        kernels = kernels[count:]
    return layers


def learn(layers: List[Any], ids: Any, counts: Any, only_spikes: bool = False) -> Any:
    """The readout's membrane, and a loss's gradients by the weights of all.

    only_spikes: gradient-only neurons are cut off between the layers.
    """
    weights = [weight for layer in layers for weight in layer.kernels]
    with tf.GradientTape() as tape:
        for layer in layers[:-1]:
            ids, counts = layer(ids, counts)
            counts = counts[..., 0] if only_spikes else counts
        membrane = layers[-1](ids, counts)
        loss = tf.reduce_sum(membrane**2)
    return membrane, tape.gradient(loss, weights)


def baselined(net: MultiLIF) -> List[np.ndarray]:
    """The float64 reference's gradients of the same loss."""
    weights = [kernel.numpy().astype(np.float64) for kernel in net.kernels]
    trace = reference.forward(net.network, weights, *spikes())
    return list(
        reference.backward(net.network, weights, *spikes(), trace, 2 * trace.membrane).weights
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stack_learns_what_one_network_learns(variant: str, delay: int) -> None:
    net = network(VARIANTS[variant], delay=delay)
    with tf.GradientTape() as tape:
        membrane = net(*spikes()).membrane
        loss = tf.reduce_sum(membrane**2)
    whole = [np.asarray(grad) for grad in tape.gradient(loss, net.kernels)]
    alone, gradients = learn(stack(net), *spikes())
    np.testing.assert_array_equal(alone, membrane)
    for one, other, baseline in zip(gradients, whole, baselined(net)):
        scale = np.abs(baseline).max()
        assert scale > 0
        np.testing.assert_allclose(one, baseline, rtol=1e-4, atol=2e-5 * scale)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6 * scale)
    # Most of what the first layer learns comes by way of neurons that only carry gradient.
    less = learn(stack(net), *spikes(), only_spikes=True)[1][0]
    assert np.abs(less - whole[0]).max() > 0.05 * np.abs(whole[0]).max()


@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_the_other_ways_to_run_it_learn_the_same(backend: str) -> None:
    """Batch first, recomputed, in a graph, by the reference."""
    net = network(VARIANTS["everything"], delay=1)
    options = {"time_major": False, "memory": "recompute", "backend": backend}
    ids, counts = spikes()
    batch_first = tf.constant(ids.transpose(1, 0, 2)), tf.constant(counts.T)
    layers = stack(net, **options)
    _, gradients = (
        tf.function(lambda: learn(layers, *batch_first))()
        if backend == "cpu"
        else (learn(layers, *batch_first))
    )
    for one, baseline in zip(gradients, baselined(net)):
        np.testing.assert_allclose(one, baseline, rtol=1e-4, atol=2e-5 * np.abs(baseline).max())
