"""Convolutions of LIF neurons in Keras on emulated tiles: as on the CPU, to the bit."""

from typing import Any, Dict

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIFConv2D
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.quantisation import Quantisation
from ipulse_ops.sparse import dense_to_sparse
from tests.ops.conv.cases import case, variants
from tests.ops.equations.conv_layers import run_layer

VARIANTS = list(variants())


def _assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected):
        assert np.any(other)
        np.testing.assert_array_equal(one, other)


def _both(name: str, fields: Dict[str, Any], **options: Any) -> None:
    """Run a case on the CPU and on tiles, and compare spikes and gradients."""
    of = case(name, 3, steps=6, **{**fields, "bias": True})
    layers = [
        Convolution(of.layer, backend=backend, tiles_per_ipu=24, **options)
        for backend in ("cpu", "emulator")
    ]
    (spikes, gradients), (expected, by_cpu) = run_layer(layers[1], of), run_layer(layers[0], of)
    _assert_same(spikes, expected)
    if type(of.layer.surrogate).__name__ == "Exponential":  # tiles have another exp
        for one, other in zip(gradients, by_cpu):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6 * np.abs(other).max())
    else:
        _assert_same(gradients, by_cpu)


@pytest.mark.parametrize("number", range(len(VARIANTS)))
def test_all_options(number: int) -> None:
    _both("cropped", VARIANTS[number])


@pytest.mark.parametrize("name", ["pool", "wide", "one_row", "groups"])
def test_geometries(name: str) -> None:
    _both(name, {"second_threshold": 0.3, "delay": 1})


def test_quantised_kernels() -> None:
    _both("pool", {}, quantisation=Quantisation(bits=4))


def test_a_second_threshold_that_changes() -> None:
    of = case("pool", 3, steps=6, second_threshold=0.2, bias=True)
    found = []
    for backend in ("cpu", "emulator"):
        layer = Convolution(of.layer, backend=backend, tiles_per_ipu=8)
        layer.second_threshold.assign(0.9)
        found.append(run_layer(layer, of))
    _assert_same(found[1][0] + found[1][1], found[0][0] + found[0][1])


def test_input_without_gradient_and_batch_first() -> None:
    rng = np.random.RandomState(2)
    dense = rng.random_sample((5, 2, 36)) < 0.3
    ids, counts = dense_to_sparse(tf.constant(dense, tf.float32), capacity=36)[:2]
    kernels, outputs, gradients = rng.normal(size=(3, 3, 1, 4)).astype(np.float32), [], []
    for backend in ("cpu", "emulator"):
        layer = LIFConv2D(
            (6, 6, 1), 4, 3, pool_size=2, time_major=False, backend=backend, tiles_per_ipu=8
        )
        layer.set_kernels([kernels])
        assert LIFConv2D.from_config(layer.get_config()).backend == backend
        whole = tf.cast(tf.transpose(ids, [1, 0, 2]), tf.int32), tf.transpose(counts)
        with tf.GradientTape() as tape:
            spikes = layer(*whole)
            loss = tf.reduce_sum(spikes.ids)
        # Sites that only carry gradient are listed in another order.
        most = int(spikes.counts[..., 1].numpy().max())
        outputs.append([spikes.counts.numpy(), np.sort(spikes.ids.numpy()[..., :most])])
        gradients.append([grad.numpy() for grad in tape.gradient(loss, layer.kernels)])
    _assert_same([*outputs[1], *gradients[1]], [*outputs[0], *gradients[0]])
