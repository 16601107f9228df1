"""The pool of spikes on emulated tiles against its reference."""

import numpy as np
import pytest

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.lif.poplar.sparse_ops import pooled_spikes_op
from ipulse_ops.reference.pooled_spikes import pooled_spikes
from poplar_emulator.custom_op import CustomOpError
from tests.ops.conv.cases import GEOMETRIES

STEPS, BATCH, SLOTS = 3, 4, 50


@pytest.mark.parametrize("tiles", [1, 2, 40])
@pytest.mark.parametrize("name", ["plain", "pool", "cropped", "wide"])
def test_it_lists_what_the_reference_lists(name: str, tiles: int) -> None:
    """Of spikes, some of them listed twice, and neurons that only carry gradient."""
    geometry = conv_geometry(Planes(9, 11, 4), **GEOMETRIES[name])
    rng = np.random.RandomState(5)
    ids = rng.randint(0, geometry.neurons, (STEPS, BATCH, SLOTS))
    counts = np.sort(rng.randint(0, SLOTS + 1, (STEPS, BATCH, 2)), axis=-1)
    counts[0, 0], counts[0, 1], counts[0, 2] = [0, 0], [0, SLOTS], [SLOTS, SLOTS]
    grad = rng.normal(size=ids.shape).astype(np.float32)
    with pooled_spikes_op(geometry, STEPS, BATCH, SLOTS, tiles) as op:
        pooled, numbers = op.forward([ids.astype(np.float32), counts.astype(np.float32)])
        (by_slots,) = op.backward([grad, np.zeros_like(numbers)])
    expected, totals, origin = pooled_spikes(ids, counts, geometry.site_of)
    np.testing.assert_array_equal(numbers, totals)
    np.testing.assert_array_equal(pooled[..., : expected.shape[2]], expected)
    assert not pooled[..., expected.shape[2] :].any()
    received = np.take_along_axis(grad, np.maximum(origin, 0), axis=2)
    np.testing.assert_array_equal(by_slots, np.where(origin < 0, 0, received))


def test_ids_that_are_no_neurons_are_ignored() -> None:
    geometry = conv_geometry(Planes(2, 2, 1), 1, (1, 1), pool=(2, 1))
    ids = np.array([[[3, -1, 4, 1]], [[0, np.nan, 2, 1e9]]], np.float32)
    counts = np.array([[[2, 9]], [[7, -1]]], np.float32)
    with pooled_spikes_op(geometry, 2, 1, 4) as op:
        pooled, numbers = op.forward([ids, counts])
        (by_slots,) = op.backward([np.ones_like(ids), np.zeros_like(numbers)])
    np.testing.assert_array_equal(pooled, [[[1, 1, 0, 0]], [[0, 0, 0, 0]]])
    np.testing.assert_array_equal(numbers, [[[1, 2]], [[2, 2]]])
    np.testing.assert_array_equal(by_slots, [[[1, 0, 0, 1]], [[1, 0, 1, 0]]])


def test_too_many_slots_are_refused() -> None:
    geometry = conv_geometry(Planes(2, 2, 1), 1, (1, 1))
    with pytest.raises(CustomOpError, match="1 to 65535 slots"):
        pooled_spikes_op(geometry, 1, 1, 65536)
