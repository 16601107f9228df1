"""The product with sparse spikes against the dense one, and its gradients."""

from __future__ import annotations

from typing import Tuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.reference.spike_matmul import spike_matmul, spike_matmul_gradients
from ipulse_ops.reference.spikes import sparse_to_dense
from tests.ops.strategies import random_spikes


def problem(seed: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, ids with duplicates, both counts, a gradient by the product."""
    rng = np.random.Generator(np.random.PCG64(seed))
    steps, batch, n_in, n_out, slots = rng.integers(1, 6, size=5)
    ids, in_use = random_spikes(rng, steps, batch, n_in, slots, duplicates=True)
    spikes = (rng.random(in_use.shape) * (in_use + 1)).astype(np.int32)
    counts = np.stack([spikes, in_use], axis=2)
    weights = rng.normal(size=(n_in, n_out))
    return weights, ids, counts, rng.normal(size=(steps, batch, n_out))


class TestSpikeMatmul:
    @given(st.integers(0, 2**32 - 1))
    @settings(max_examples=100)
    def test_equals_the_dense_product(self, seed: int) -> None:
        weights, ids, counts, _ = problem(seed)
        dense = sparse_to_dense(ids, counts[..., 0], len(weights))
        product = spike_matmul(weights, ids, counts)
        np.testing.assert_allclose(product, dense @ weights, rtol=1e-12, atol=1e-12)
        assert np.array_equal(product, spike_matmul(weights, ids, counts[..., 0]))

    def test_no_spike_is_zero(self) -> None:
        product = spike_matmul(np.ones((3, 2)), np.zeros((2, 1, 4), int), np.zeros((2, 1), int))
        assert product.tolist() == [[[0, 0]], [[0, 0]]]

    def test_refuses_ids_beyond_the_weights(self) -> None:
        with pytest.raises(ValueError, match=r"ids\[0, 0, 0\] is 3; it must be 0 to 2"):
            spike_matmul(np.ones((3, 2)), np.full((1, 1, 1), 3), np.ones((1, 1), int))

    def test_refuses_more_spikes_than_filled_slots(self) -> None:
        with pytest.raises(ValueError, match=r"counts must be \(spikes, filled slots\)"):
            spike_matmul(np.ones((3, 2)), np.zeros((1, 1, 2), int), np.array([[[2, 1]]]))


class TestGradients:
    @given(st.integers(0, 2**32 - 1))
    @settings(max_examples=100)
    def test_are_those_of_a_linear_map(self, seed: int) -> None:
        """It is linear in the weights, and in how much each slot spikes."""
        weights, ids, counts, grad = problem(seed)
        grad_weights, grad_slots = spike_matmul_gradients(weights, ids, counts, grad)
        dense = sparse_to_dense(ids, counts[..., 0], len(weights)).astype(np.float64)
        expected = np.einsum("tbi,tbo->io", dense, grad)
        np.testing.assert_allclose(grad_weights, expected, rtol=1e-12, atol=1e-12)
        for t, b, k in np.ndindex(*ids.shape):
            slot = weights[ids[t, b, k]] @ grad[t, b] if k < counts[t, b, 1] else 0.0
            assert grad_slots[t, b, k] == pytest.approx(slot, rel=1e-12, abs=1e-12)

    def test_do_not_read_ids_behind_the_slots(self) -> None:
        ids, counts = np.array([[[1, -9]]]), np.array([[1]])
        _, grad_slots = spike_matmul_gradients(np.ones((2, 3)), ids, counts, np.ones((1, 1, 3)))
        assert grad_slots.tolist() == [[[3, 0]]]

    def test_refuse_another_products_gradient(self) -> None:
        ids, counts = np.zeros((1, 1, 1), int), np.ones((1, 1), int)
        with pytest.raises(ValueError, match=r"grad_product must have shape \(1, 1, 3\)"):
            spike_matmul_gradients(np.ones((2, 3)), ids, counts, np.ones((1, 1, 2)))
