"""LIF neurons of convolutions on emulated tiles: the bits of the op on CPUs."""

from dataclasses import replace
from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.conv.tensorflow_op import run_conv
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.poplar import attributes
from ipulse_ops.lif.poplar.sparse_ops import conv_lif_op
from ipulse_ops.surrogate import Exponential
from poplar_emulator.custom_op import CustomOpError
from tests.ops.conv.cases import GEOMETRIES, SURROGATES, Case, case


def without_pool(of: Case) -> Case:
    return of._replace(layer=replace(of.layer, geometry=replace(of.layer.geometry, pool=(1, 1))))


def weights_of_slots(of: Case) -> np.ndarray:
    """The derivative of a loss by each slot."""
    shape = (*of.counts.shape, of.layer.geometry.neurons)
    return np.random.RandomState(3).normal(size=shape).astype(np.float32)


def on_cpu(of: Case) -> List[np.ndarray]:
    """Return ids and counts, then the gradients of kernel, slots and bias."""
    watched = [tf.constant(of.kernel), tf.constant(of.ids, tf.float32)]
    watched += [] if of.bias is None else [tf.constant(of.bias)]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        bias = None if of.bias is None else watched[2]
        outputs = run_conv(of.layer, watched[0], bias, watched[1], of.counts)
        loss = tf.reduce_sum(outputs.spike_ids * weights_of_slots(of)[..., : outputs[0].shape[2]])
    found = [*outputs[:2], *tape.gradient(loss, watched)]
    return [tensor.numpy() for tensor in found]


def on_tiles(of: Case, tiles: int = 16) -> List[np.ndarray]:
    layer = of.layer
    scale, bias_scale = np.float32(layer.scale * layer.input_scale), np.float32(layer.scale)
    counts = np.stack([of.counts, of.counts], axis=-1).astype(np.float32)
    inputs = [scale * of.kernel, of.ids.astype(np.float32), counts]
    inputs += [] if of.bias is None else [bias_scale * of.bias]
    inputs += [np.full(1, second, np.float32) for second in [layer.second_threshold] if second]
    with conv_lif_op(layer, *of.ids.shape, tiles_per_ipu=tiles) as op:
        ids, filled = op.forward(inputs)
        kernel, slots, *bias = op.backward([weights_of_slots(of), np.zeros_like(filled)])
    return [ids, filled, scale * kernel, slots, *(bias_scale * found for found in bias)]


def assert_same(found: List[np.ndarray], expected: List[np.ndarray]) -> None:
    slots = expected[0].shape[2]
    assert not found[0][..., slots:].any()
    found[0] = found[0][..., :slots]
    for one, other in zip(found, expected):
        assert np.any(other)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("second", [None, 0.4])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_results_have_the_bits_of_the_op_on_cpus(name: str, second: Any) -> None:
    of = without_pool(case(name, 5, steps=7, bias=second is None, second_threshold=second))
    assert_same(on_tiles(of), on_cpu(of))


@pytest.mark.parametrize("second", [None, 0.4])
@pytest.mark.parametrize("gradient", ["mask", "term", "none"])
@pytest.mark.parametrize("reset", ["zero", "subtract", "none"])
def test_resets(reset: str, gradient: str, second: Any) -> None:
    options = {"reset": reset, "reset_gradient": gradient, "second_threshold": second}
    of = without_pool(case("groups", 6, steps=6, input_scale=0.25, **options))
    assert_same(on_tiles(of), on_cpu(of))


@pytest.mark.parametrize("surrogate", SURROGATES, ids=lambda of: type(of).__name__)
def test_surrogates(surrogate: Any) -> None:
    of = without_pool(case("plain", 7, steps=5, surrogate=surrogate))
    found, expected = on_tiles(of), on_cpu(of)
    if not isinstance(surrogate, Exponential):
        assert_same(found, expected)
        return
    assert_same(found[:2], expected[:2])  # tiles have another exponential function
    for one, other in zip(found[2:], expected[2:]):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6 * np.abs(other).max())


@pytest.mark.parametrize(("tiles", "batch"), [(1, 5), (3, 5), (90, 2), (600, 3), (24, 18)])
def test_the_number_of_tiles_changes_no_bit(tiles: int, batch: int) -> None:
    of = without_pool(case("same", 8, steps=4, batch=batch, bias=True))
    assert_same(on_tiles(of, tiles), on_cpu(of))


def test_steps_that_a_tile_sees_one_after_the_other() -> None:
    """The slots of all steps are more than a tile has at once."""
    layer = ConvLIF(conv_geometry(Planes(1, 40, 2), 4, (1, 3)), gain=0.5, bias=True)
    rng = np.random.RandomState(9)
    ids = rng.randint(0, 80, (6, 2, 5000))
    counts = rng.randint(0, 60, (6, 2))
    kernel = rng.normal(size=layer.geometry.weights).astype(np.float32)
    of = Case(layer, kernel, np.full(4, 0.1, np.float32), ids, counts)
    assert_same(on_tiles(of), on_cpu(of))


@pytest.mark.parametrize("word", ["reset=sometimes", "reset_gradient=all", "decay=fast"])
def test_wrong_attributes(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = case("plain", 1).layer
    key = word.split("=")[0]
    right = attributes.conv_lif_attributes(layer)
    wrong = " ".join(word if each.startswith(f"{key}=") else each for each in right.split())
    monkeypatch.setattr("ipulse_ops.lif.poplar.sparse_ops.conv_lif_attributes", lambda layer: wrong)
    with pytest.raises(CustomOpError, match=f"{key} must be"):
        conv_lif_op(layer, 1, 1, 4)
