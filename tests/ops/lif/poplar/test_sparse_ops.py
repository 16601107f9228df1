"""The smaller ops on the emulator against their NumPy references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ipulse_ops.lif.poplar import sparse_ops
from ipulse_ops.reference.select_spikes import POLICIES, select_spikes, select_spikes_gradients
from ipulse_ops.reference.spike_matmul import spike_matmul, spike_matmul_gradients
from ipulse_ops.reference.spikes import (
    dense_to_sparse,
    dense_to_sparse_gradient,
    sparse_to_dense,
    sparse_to_dense_gradient,
)
from ipulse_ops.surrogate import SuperSpike
from poplar_emulator.custom_op import CustomOpError
from tests.ops.strategies import SURROGATES, random_spikes

STEPS, BATCH, NEURONS = 3, 7, 11


def floats(*arrays: np.ndarray) -> Any:
    return [np.asarray(array, np.float32) for array in arrays]


def spikes(slots: int, duplicates: bool = False) -> Any:
    """ids, counts of spikes, and counts of spikes and filled slots."""
    rng = np.random.Generator(np.random.PCG64(slots))
    ids, filled = random_spikes(rng, STEPS, BATCH, NEURONS, slots, duplicates)
    counts = filled // 2
    return ids, counts, np.stack([counts, filled], axis=2)


def normal(*shape: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(9)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("slots", "duplicates"), [(1, False), (5, True), (11, False)])
class TestSlots:
    def test_sparse_to_dense(self, slots: int, duplicates: bool) -> None:
        ids, counts, both = spikes(slots, duplicates)
        grad = normal(STEPS, BATCH, NEURONS)
        with sparse_ops.sparse_to_dense_op(STEPS, BATCH, slots, NEURONS) as op:
            (dense,) = op.forward(floats(ids, both))
            (actual,) = op.backward([grad])
        np.testing.assert_array_equal(dense, sparse_to_dense(ids, counts, NEURONS))
        np.testing.assert_array_equal(actual, sparse_to_dense_gradient(ids, both[..., 1], grad))

    def test_spike_matmul(self, slots: int, duplicates: bool) -> None:
        ids, _, both = spikes(slots, duplicates)
        weights, grad = normal(NEURONS, 9), normal(STEPS, BATCH, 9)
        with sparse_ops.spike_matmul_op(STEPS, BATCH, slots, NEURONS, 9) as op:
            (product,) = op.forward(floats(weights, ids, both))
            by_weights, by_slots = op.backward([grad])
        np.testing.assert_allclose(product, spike_matmul(weights, ids, both), atol=1e-5)
        expected = spike_matmul_gradients(weights, ids, both, grad)
        np.testing.assert_allclose(by_weights, expected[0], atol=1e-5)
        np.testing.assert_allclose(by_slots, expected[1], atol=1e-5)


@pytest.mark.parametrize("slots", [1, 4, 11])
class TestSelection:
    def test_dense_to_sparse(self, slots: int) -> None:
        dense = (normal(STEPS, BATCH, NEURONS) > 0).astype(np.float32)
        grad = normal(STEPS, BATCH, slots)
        with sparse_ops.dense_to_sparse_op(STEPS, BATCH, slots, NEURONS) as op:
            ids, counts, dropped = op.forward([dense])
            (actual,) = op.backward([grad, *[np.zeros((STEPS, BATCH), np.float32)] * 2])
        all_ids, all_counts = dense_to_sparse(dense, NEURONS)
        kept = np.minimum(all_counts, slots)
        np.testing.assert_array_equal(counts, kept)
        np.testing.assert_array_equal(dropped, all_counts - kept)
        in_use = np.arange(slots) < kept[..., None]
        np.testing.assert_array_equal(ids, np.where(in_use, all_ids[..., :slots], 0))
        whole = dense_to_sparse_gradient(ids.astype(np.int32), kept, NEURONS, grad)
        np.testing.assert_array_equal(actual, whole.astype(np.float32))

    @pytest.mark.old_python
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("gated", [False, True])
    def test_select_spikes(self, slots: int, gated: bool, policy: str) -> None:
        surrogate = SURROGATES[slots % len(SURROGATES)]
        u, threshold = normal(BATCH, NEURONS), 0.3 * normal(NEURONS)
        second = threshold - 0.5
        given = [u, threshold, *([second] if gated else [])]
        grad = normal(BATCH, slots)
        offsets = np.arange(BATCH, dtype=np.int32) if policy == "cyclic" else None
        given += [] if offsets is None else [offsets]
        with sparse_ops.select_spikes_op(BATCH, NEURONS, slots, gated, surrogate, policy) as op:
            ids, counts, dropped, phi = op.forward(given)
            rest = [np.zeros_like(array) for array in (counts, dropped, phi)]
            by_u, by_threshold = op.backward([grad, *rest])
        expected = select_spikes(u, threshold, second if gated else None, slots, policy, offsets)
        for actual, array in zip((ids, counts, dropped), expected):
            np.testing.assert_array_equal(actual, array)
        gradients = select_spikes_gradients(u, threshold, expected, surrogate, grad)
        np.testing.assert_allclose(by_u, gradients[0], atol=1e-5)
        np.testing.assert_allclose(by_threshold, gradients[1], atol=1e-5)


def test_ids_that_are_no_neurons_are_ignored() -> None:
    """Also counts beyond the slots: nothing outside the rows is read or written."""
    ids = np.array([[[0, -1, 3, 1], [2, 7, 1e9, np.nan]]], np.float32)
    counts = np.array([[[9, 9], [4, -3]]], np.float32)
    dense = np.array([[[1, 1, 0], [0, 0, 1]]], np.float32)
    with sparse_ops.sparse_to_dense_op(1, 2, 4, 3) as op:
        np.testing.assert_array_equal(op.forward([ids, counts])[0], dense)
        (actual,) = op.backward([np.array([[[2, 3, 5], [7, 11, 13]]], np.float32)])
    np.testing.assert_array_equal(actual, [[[2, 0, 0, 3], [0, 0, 0, 0]]])
    weights = normal(3, 5)
    with sparse_ops.spike_matmul_op(1, 2, 4, 3, 5) as op:
        (product,) = op.forward([weights, ids, counts])
    # The second sample's filled slots, of which spikes are a part, are none.
    np.testing.assert_allclose(product[0], [weights[0] + weights[1], np.zeros(5)], atol=1e-6)


def test_wrong_attributes_are_reported_with_the_expected_values() -> None:
    with pytest.raises(CustomOpError, match="slots must be 1 to 3; got 4"):
        sparse_ops.select_spikes_op(2, 3, 4, surrogate=SuperSpike())
    with pytest.raises(CustomOpError, match="neurons must be a whole number of at least 1"):
        sparse_ops.sparse_to_dense_op(1, 1, 1, 0)
