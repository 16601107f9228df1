"""Delays of layers and truncated gradients of whole networks in Keras."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import (
    LIF,
    ConnectionDelays,
    DenseLIFCell,
    LeakyReadout,
    LIFLayer,
    LIFReadout,
    MultiLIF,
    SparseLIFCell,
)
from ipulse_ops.lif.unsupported import UnsupportedNetwork

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


def test_truncated_gradients_are_not_recomputed_on_tiles() -> None:
    with pytest.raises(UnsupportedNetwork, match="memory is recompute"):
        network(backend="emulator", truncate=4, memory="recompute")(spikes())


def aligned(rounded: bool = False) -> MultiLIF:
    """A channel with a weight of 1, to a neuron without memory."""
    delays = ConnectionDelays(6, "neuron", rounded)
    made = MultiLIF(1, [], LIF(1, decay=0.0, gain=1.0, threshold=9.0, delays=delays))
    made.set_kernels([np.ones((1, 1)), np.array([1.3])])
    return made


def test_a_delay_is_learned() -> None:
    made = aligned()
    ids, counts = np.zeros((8, 1, 1), np.int32), np.eye(8, 1, dtype=np.int32)
    optimizer = tf.keras.optimizers.SGD(0.2)
    for target, expected in ((4.6, 4.6), (9.0, 6.0)):
        for _ in range(40):
            with tf.GradientTape() as tape:
                membrane = made(ids, counts, training=True).membrane[:, 0, 0]
                when = tf.reduce_sum(membrane * tf.range(8.0))
                loss = (when - target) ** 2 / 2
            delay = made.kernels[1]
            optimizer.apply_gradients([(tape.gradient(loss, delay), delay)])
        assert float(when) == pytest.approx(expected, abs=1e-3)


def test_whole_delays_are_used_outside_of_training() -> None:
    made = aligned(rounded=True)
    ids, counts = np.zeros((4, 1, 1), np.int32), np.eye(4, 1, dtype=np.int32)
    trained = made(ids, counts, training=True).membrane.numpy().ravel()
    np.testing.assert_allclose(trained, [0, 0.7, 0.3, 0], atol=1e-6)
    for mode in (None, False):
        assert made(ids, counts, training=mode).membrane.numpy().ravel().tolist() == [0, 1, 0, 0]


@pytest.mark.old_python
@pytest.mark.parametrize("per", ["synapse", "neuron"])
def test_delays_of_connections_are_configured_and_saved(per: str, tmp_path: Path) -> None:
    delays = ConnectionDelays(3, per)
    layers = [LIF(6, recurrent=True, delays=delays), LIF(5, bias=True)]
    readout = LeakyReadout(4, delays=delays)
    made = MultiLIF(20, layers, readout, seed=3)
    again = MultiLIF.from_config(made.get_config())
    assert again.network == made.network
    drawn = [kernel.numpy() for kernel in again.kernels]
    assert np.array_equal(drawn[2], made.kernels[2].numpy())
    assert 0 < drawn[2].max() <= 3
    trained = {id(weight) for weight in made.trainable_weights}
    assert (id(made.kernels[2]) in trained) == (per == "neuron")
    tf.train.Checkpoint(net=made).save(str(tmp_path / "c"))
    tf.train.Checkpoint(net=again).restore(tf.train.latest_checkpoint(str(tmp_path)))
    np.testing.assert_array_equal(again(spikes()).membrane, made(spikes()).membrane)
    for cell in (SparseLIFCell, DenseLIFCell):
        with pytest.raises(UnsupportedNetwork, match="MultiLIF"):
            cell(20, layers, readout)
