"""A convolution of spikes as an op: float64 and float32 references, threads and CPUs."""

from typing import Any, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.conv import spike_conv_reference as reference
from ipulse_ops.conv.spike_conv import spike_conv
from ipulse_ops.lif.cpu import native
from tests.ops.conv.cases import GEOMETRIES
from tests.ops.conv.spike_problem import SCALE, Problem


def _same(left: List[np.ndarray], right: List[np.ndarray]) -> None:
    for one, other in zip(left, right):
        assert one.any()
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


@pytest.mark.sample(1)
@pytest.mark.parametrize("spikes", ["few", "crowded", "full"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_float32_reference_has_the_same_bits(name: str, spikes: str) -> None:
    of = Problem(name, batch=18, spikes=spikes)
    _same(of.of_op(), of.of_reference(np.float32))


@pytest.mark.parametrize("spikes", ["few", "crowded", "full"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_where_sums_are_exact_it_equals_float64(name: str, spikes: str) -> None:
    of = Problem(name, batch=3, dyadic=True, spikes=spikes)
    _same(of.of_op(), of.of_reference(np.float64))


@pytest.mark.parametrize("spikes", ["few", "crowded", "full"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_any_numbers_are_near_to_float64(name: str, spikes: str) -> None:
    of = Problem(name, batch=3, spikes=spikes)
    for found, expected in zip(of.of_op(), of.of_reference(np.float64)):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6 * largest)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_adjoint_is_the_transpose_of_the_tangent(name: str) -> None:
    of, rng = Problem(name, batch=2), np.random.RandomState(9)
    kernel, weights = of.kernel.astype(np.float64), rng.normal(size=of.by_current.shape)
    found = reference.spike_conv_gradients(of.geometry, kernel, of.ids, of.counts, weights, SCALE)
    d_kernel, d_bias = rng.normal(size=kernel.shape), rng.normal(size=of.geometry.filters)
    tangent = reference.spike_conv(of.geometry, d_kernel, of.ids, of.counts, d_bias, SCALE)
    expected = (found.kernel * d_kernel).sum() + (found.bias * d_bias).sum()
    assert float((weights * tangent).sum()) == pytest.approx(float(expected), rel=1e-12)
    # It is linear in the spikes: the gradient of a slot is what its spike changes.
    for place in ((1, 0), (3, 1)):
        for k in range(of.counts[place][1]):
            counts = np.zeros_like(of.counts)
            counts[place] = 1
            ids = np.roll(of.ids, -k, axis=2)
            change = reference.spike_conv(of.geometry, kernel, ids, counts, input_scale=SCALE)
            expected = (weights * change).sum()
            assert found.slots[(*place, k)] == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("spikes", ["few", "crowded", "full"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_instruction_sets_and_threads_give_the_same_bits(name: str, spikes: str) -> None:
    of = Problem(name, batch=19, spikes=spikes)
    expected = of.of_op(threads=1, arch=0)
    for mask in native.kernels().values():
        for threads in (1, 2, 3, 16):
            _same(of.of_op(threads=threads, arch=mask & native.supported_arch()), expected)


@pytest.mark.parametrize("batch", [0, 1, 16, 17])
def test_batches_of_any_size(batch: int) -> None:
    of = Problem("plain", batch=max(batch, 1))
    if batch:
        _same(of.of_op(), of.of_reference(np.float32))
        return
    nothing = np.zeros((4, 0, 3), np.int32), np.zeros((4, 0), np.int32)
    assert spike_conv(of.geometry, of.kernel, *nothing).shape == (4, 0, of.geometry.neurons)


def test_ids_of_whole_numbers_carry_no_gradient() -> None:
    of = Problem("same", batch=2)
    kernel, ids = tf.constant(of.kernel), tf.constant(of.ids)
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        currents = spike_conv(of.geometry, kernel, ids, of.counts[..., 0])
    assert tape.gradient(currents, [kernel, ids])[1] is None
    again = tf.function(lambda: spike_conv(of.geometry, kernel, ids, of.counts[..., 0]))()
    np.testing.assert_array_equal(currents, again)


def _wrong() -> List[Tuple[Any, Any]]:
    return [([[[99999]]], [[1]]), ([[[0]]], [[2]]), ([[[0]]], [[-1]]), ([[[-1]]], [[1]])]


@pytest.mark.parametrize(("ids", "counts"), _wrong())
def test_wrong_spikes_are_refused(ids: Any, counts: Any) -> None:
    of = Problem("plain", batch=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="time 0, sample 0"):
        spike_conv(of.geometry, of.kernel, np.array(ids, np.int32), np.array(counts, np.int32))


def test_a_kernel_or_bias_of_another_shape_is_refused() -> None:
    of = Problem("plain", batch=1)
    spikes = of.ids, of.counts[..., 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="kernel must have shape"):
        spike_conv(of.geometry, of.kernel[1:], *spikes)
    with pytest.raises(tf.errors.InvalidArgumentError, match="bias must have shape"):
        spike_conv(of.geometry, of.kernel, *spikes, bias=of.bias[1:])
