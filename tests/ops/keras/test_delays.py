"""Delays of layers and truncated gradients of whole networks in Keras."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import (
    LIF,
    DenseLIFCell,
    LeakyReadout,
    LIFLayer,
    LIFReadout,
    MultiLIF,
    SparseLIFCell,
)
from ipulse_ops.lif.poplar.attributes import UnsupportedNetwork

STEPS = 14
LAYERS = [LIF(16, second_threshold=0.5), LIF(9, recurrent=True)]


def network(**options: Any) -> MultiLIF:
    net = MultiLIF(20, LAYERS, LeakyReadout(4), **options)
    rng = np.random.RandomState(1)
    net.set_kernels([rng.normal(0.1, 0.4, kernel.shape) for kernel in net.kernels])
    return net


def spikes() -> Any:
    dense = np.random.RandomState(2).random_sample((STEPS, 3, 20)) < 0.2
    return tf.constant(dense, tf.float32)


def learn(net: Any) -> Tuple[np.ndarray, List[np.ndarray]]:
    """Return the membrane, and a loss's gradients by the weights and the input."""
    dense = spikes()
    with tf.GradientTape() as tape:
        tape.watch(dense)
        membrane = net(dense).membrane
        loss = tf.reduce_sum(membrane**2)
    return membrane.numpy(), [g.numpy() for g in tape.gradient(loss, [*net.kernels, dense])]


@pytest.mark.parametrize(
    "options",
    [{"delay": 3}, {"delay": [2, 0, 3]}, {"delay": [0, STEPS, 1]}, {"truncate": 4}],
    ids=str,
)
def test_the_kernels_do_what_the_reference_does(options: Dict[str, Any]) -> None:
    net = network(**options)
    membrane, gradients = learn(net)
    expected, exact = learn(network(backend="numpy", **options))
    np.testing.assert_allclose(membrane, expected, rtol=1e-4, atol=1e-5)
    for one, other in zip(gradients, exact):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())
    again = MultiLIF.from_config(net.get_config())
    again.set_kernels([kernel.numpy() for kernel in net.kernels])
    np.testing.assert_array_equal(again(spikes()).membrane, membrane)


def test_a_stack_of_layers_delays_as_one_network() -> None:
    net = network(delay=[2, 1, 3])
    kernels, layers, found = [kernel.numpy() for kernel in net.kernels], [], spikes()
    for number, layer in enumerate((*LAYERS, LeakyReadout(4))):
        kind = LIFLayer if isinstance(layer, LIF) else LIFReadout
        layers.append(kind(net.network.sizes[number], layer, delay=net.network.delays[number]))
    for made in layers:
        made.set_kernels([kernels.pop(0) for _ in made.kernels])
    inputs = layers[0](found)
    for made in layers[1:]:
        inputs = made(*inputs)
    np.testing.assert_array_equal(inputs, net(spikes()).membrane)


def test_a_window_of_all_steps_cuts_nothing() -> None:
    whole, long, short = (learn(network(truncate=t))[1] for t in (None, STEPS, STEPS - 1))
    for one, other, cut in zip(whole, long, short):
        np.testing.assert_array_equal(one, other)
        assert not np.array_equal(one, cut)


@pytest.mark.parametrize("cell", [SparseLIFCell, DenseLIFCell])
@pytest.mark.parametrize("options", [{"delay": 2}, {"delay": (0, 1, 0)}, {"truncate": 4}], ids=str)
def test_cells_refuse_what_they_lack(cell: Any, options: Dict[str, Any]) -> None:
    with pytest.raises(UnsupportedNetwork, match="MultiLIF"):
        cell(20, LAYERS, LeakyReadout(4), **options)


@pytest.mark.parametrize("options", [{"delay": 2}, {"truncate": 4}], ids=str)
def test_emulated_tiles_refuse_what_they_lack(options: Dict[str, Any]) -> None:
    with pytest.raises(UnsupportedNetwork, match="back end cpu"):
        network(backend="emulator", **options)(spikes())
