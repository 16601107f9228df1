"""A convolution of spikes on emulated tiles: the bits of the op on CPUs, and float64."""

from typing import Any, List, Optional, Sequence

import numpy as np
import pytest

from ipulse_core.spec.conv_geometry import ConvGeometry, Planes, conv_geometry
from ipulse_ops.conv import spike_conv_reference as reference
from ipulse_ops.lif.poplar.sparse_ops import spike_conv_op
from poplar_emulator.custom_op import CustomOpError
from tests.ops.conv.cases import GEOMETRIES
from tests.ops.conv.spike_problem import SCALE, Problem


def on_tiles(
    geometry: ConvGeometry,
    kernel: np.ndarray,
    ids: np.ndarray,
    counts: np.ndarray,
    grad: np.ndarray,
    bias: Optional[np.ndarray] = None,
    tiles: int = 16,
) -> List[np.ndarray]:
    """Return the currents, then the gradients of kernel, slots and bias."""
    more = [] if bias is None else [bias]
    with spike_conv_op(geometry, *ids.shape, bias is not None, tiles_per_ipu=tiles) as op:
        spikes = ids.astype(np.float32), counts.astype(np.float32)
        return [*op.forward([kernel, *spikes, *more]), *op.backward([grad])]


def of_problem(of: Problem, tiles: int) -> List[np.ndarray]:
    """Return what the op on tiles makes of a problem, in the order of the problem's results."""
    kernel = np.float32(SCALE) * of.kernel
    currents, by_kernel, by_slots, by_bias = on_tiles(
        of.geometry, kernel, of.ids, of.counts, of.by_current, of.bias, tiles
    )
    return [currents, np.float32(SCALE) * by_kernel, by_bias, by_slots]


def assert_same(left: Sequence[Any], right: Sequence[Any]) -> None:
    for one, other in zip(left, right):
        assert np.any(other)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("spikes", ["few", "full"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_results_have_the_bits_of_the_op_on_cpus(name: str, spikes: str) -> None:
    of = Problem(name, batch=3, spikes=spikes)
    found = of_problem(of, tiles=16)
    assert_same(found, of.of_op())
    for one, expected in zip(found, of.of_reference(np.float64)):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=2e-6 * largest)


@pytest.mark.parametrize("tiles", [1, 2, 7, 90, 600])
@pytest.mark.parametrize("name", ["same", "groups"])
def test_the_number_of_tiles_changes_no_bit(name: str, tiles: int) -> None:
    """Fewer tiles than samples, and more than there are positions in a step of a sample."""
    of = Problem(name, batch=5)
    assert_same(of_problem(of, tiles), of.of_op())


@pytest.mark.parametrize("batch", [1, 16, 18])
def test_groups_of_samples(batch: int) -> None:
    of = Problem("strides", batch)
    assert_same(of_problem(of, tiles=24), of.of_op())


@pytest.mark.parametrize("tiles", [3, 40])
def test_planes_that_a_tile_sees_by_pieces(tiles: int) -> None:
    """The sums go on from piece to piece, of neurons, of steps and of positions."""
    geometry = conv_geometry(Planes(24, 25, 2), 24, (3, 3), padding="same")
    rng = np.random.RandomState(3)
    ids = rng.randint(0, geometry.entering.sites, (2, 2, 60))
    counts = rng.randint(30, 61, (2, 2))
    both = np.stack([counts // 2, counts], axis=-1)
    kernel = rng.normal(size=geometry.weights).astype(np.float32)
    grad = rng.normal(size=(2, 2, geometry.neurons)).astype(np.float32)
    bias = rng.normal(size=24).astype(np.float32)
    found = on_tiles(geometry, kernel, ids, both, grad, bias, tiles)
    expected = reference.spike_conv_gradients(geometry, kernel, ids, both, grad)
    assert_same(found, [reference.spike_conv(geometry, kernel, ids, both, bias), expected.kernel])
    assert_same(found[2:], [expected.slots, expected.bias])


@pytest.mark.parametrize(
    ("entering", "sizes"),
    [
        (Planes(1, 40, 3), {"filters": 4, "kernel": (1, 5), "strides": (1, 2)}),
        (Planes(5, 4, 6, True), {"filters": 7, "kernel": (1, 1)}),
        (Planes(1, 1, 2), {"filters": 1, "kernel": (1, 1)}),
        (Planes(2, 2, 1), {"filters": 3, "kernel": (3, 3), "padding": (1, 1)}),
    ],
    ids=["conv1d", "one_tap", "one_place", "kernel_larger_than_the_input"],
)
def test_edges(entering: Planes, sizes: Any) -> None:
    """One sample; no spike, ids that are listed twice, and a full list."""
    geometry = conv_geometry(entering, **sizes)
    rng = np.random.RandomState(4)
    ids = rng.randint(0, entering.sites, (3, 1, 8))
    counts = np.array([[[0, 0]], [[3, 8]], [[8, 8]]])
    kernel = rng.normal(size=geometry.weights).astype(np.float32)
    grad = rng.normal(size=(3, 1, geometry.neurons)).astype(np.float32)
    found = on_tiles(geometry, kernel, ids, counts, grad)
    expected = reference.spike_conv_gradients(geometry, kernel, ids, counts, grad)
    assert_same(found, [reference.spike_conv(geometry, kernel, ids, counts), expected.kernel])
    np.testing.assert_array_equal(found[2], expected.slots)
    assert not found[0][0].any()
    assert not found[2][0].any()


def test_integer_ids_have_the_same_currents() -> None:
    of = Problem("same", batch=2)
    kernel = np.float32(SCALE) * of.kernel
    with spike_conv_op(of.geometry, *of.ids.shape, bias=True, ids_type="int32") as op:
        spikes = of.ids, of.counts.astype(np.int32)
        (currents,) = op.forward([kernel, *spikes, of.bias])
    np.testing.assert_array_equal(currents, of.of_op()[0])


def test_ids_that_are_no_inputs_are_ignored() -> None:
    """Also counts beyond the slots: nothing outside the lists is read."""
    geometry = conv_geometry(Planes(2, 2, 1), 3, (1, 1))
    kernel = np.array([1, 2, 3], np.float32).reshape(geometry.weights)
    ids = np.array([[[0, -1, 4, 1], [2, 7, 1e9, np.nan]]], np.float32)
    counts = np.array([[[9, 9], [4, -3]]], np.float32)
    grad = np.ones((1, 2, 12), np.float32)
    currents, by_kernel, by_slots = on_tiles(geometry, kernel, ids, counts, grad)
    np.testing.assert_array_equal(currents[0, 0], [1, 2, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(by_kernel.ravel(), [3, 3, 3])
    np.testing.assert_array_equal(by_slots, [[[6, 0, 0, 6], [0, 0, 0, 0]]])


class TestWrongArguments:
    def compile(self, **changes: Any) -> None:
        geometry = conv_geometry(Planes(4, 4, 2), 4, (2, 2))
        fields = dict(vars(geometry), **changes)
        spike_conv_op(ConvGeometry(**fields), 1, 1, 4)

    def test_no_stride(self) -> None:
        with pytest.raises(CustomOpError, match="number 7 of geometry must be at least 1; got 0"):
            self.compile(strides=(0, 1))

    def test_groups_that_do_not_divide_the_filters(self) -> None:
        with pytest.raises(CustomOpError, match="groups must divide the channels and the filters"):
            self.compile(groups=2, filters=5)
