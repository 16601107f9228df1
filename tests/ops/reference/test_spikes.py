"""Sparse spikes: conversion both ways, and refusals that say where."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_ops.reference.spikes import (
    check_shape,
    check_spikes,
    dense_to_sparse,
    dense_to_sparse_gradient,
    sparse_to_dense,
    sparse_to_dense_gradient,
)


def bits(shape: Any, seed: int, rate: float) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(seed))
    ones: np.ndarray = rng.random(shape) < rate
    return ones.astype(np.int32)


shapes = st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 9))


class TestDenseToSparse:
    def test_ids_ascend_and_fill_the_first_slots(self) -> None:
        dense = [[[0, 1, 0, 1], [0, 0, 0, 0]], [[1, 1, 0, 1], [0, 0, 1, 0]]]
        ids, counts = dense_to_sparse(np.array(dense))
        assert ids.tolist() == [[[1, 3, 0], [0, 0, 0]], [[0, 1, 3], [2, 0, 0]]]
        assert counts.tolist() == [[2, 0], [3, 1]]
        assert ids.dtype == counts.dtype == np.int32

    @given(shapes, st.integers(0, 999), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    def test_and_back_is_the_same(self, shape: Any, seed: int, rate: float) -> None:
        dense = bits(shape, seed, rate)
        ids, counts = dense_to_sparse(dense)
        check_spikes(ids, counts, shape[2])
        assert ids.shape[2] == max(1, int(counts.max(initial=0)))
        assert np.array_equal(sparse_to_dense(ids, counts, shape[2]), dense)

    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
    def test_takes_any_dtype(self, dtype: Any) -> None:
        dense = bits((3, 2, 5), 1, 0.5)
        assert np.array_equal(dense_to_sparse(dense.astype(dtype))[0], dense_to_sparse(dense)[0])

    def test_silence_still_has_a_slot(self) -> None:
        ids, counts = dense_to_sparse(np.zeros((2, 1, 4)))
        assert ids.tolist() == [[[0]], [[0]]]
        assert counts.tolist() == [[0], [0]]

    def test_capacity_sets_the_slots(self) -> None:
        ids, _ = dense_to_sparse(np.array([[[0, 1, 1]]]), capacity=5)
        assert ids.tolist() == [[[1, 2, 0, 0, 0]]]

    def test_too_small_a_capacity_reports_the_required_one(self) -> None:
        dense = np.zeros((3, 2, 6))
        dense[1, 1, 1:5] = 1
        with pytest.raises(ValueError, match=r"step 1 of sample 1 has 4 spikes; .* at least 4"):
            dense_to_sparse(dense, capacity=3)
        with pytest.raises(ValueError, match="capacity must be at least 1; got 0"):
            dense_to_sparse(np.zeros((1, 1, 1)), capacity=0)

    @pytest.mark.parametrize("value", [2.0, -1.0, 0.5, np.nan, np.inf])
    def test_other_values_are_refused_with_their_place(self, value: float) -> None:
        dense = np.zeros((2, 3, 4))
        dense[1, 2, 3] = value
        with pytest.raises(ValueError, match=r"0 or 1; dense\[1, 2, 3\] is "):
            dense_to_sparse(dense)

    def test_other_shapes_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"\[time, batch, neurons\]; got shape \(2, 3\)"):
            dense_to_sparse(np.zeros((2, 3)))


class TestSparseToDense:
    def test_an_id_listed_twice_counts_twice(self) -> None:
        dense = sparse_to_dense(np.array([[[2, 2, 0]]]), np.array([[2]]), 4)
        assert dense.tolist() == [[[0, 0, 2, 0]]]
        assert dense.dtype == np.float32

    def test_slots_after_the_count_are_ignored(self) -> None:
        assert sparse_to_dense(np.array([[[1, -5, 99]]]), np.array([[1]]), 2).tolist() == [[[0, 1]]]

    def test_wrong_spikes_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"ids\[0, 0, 0\] is 2; it must be 0 to 1"):
            sparse_to_dense(np.array([[[2]]]), np.array([[1]]), 2)


class TestGradients:
    ids = np.array([[[2, 0, 9], [1, 1, -3]]])  # the last slots are behind the counts
    counts = np.array([[2, 2]])

    def test_a_slot_takes_the_dense_gradient_at_its_id(self) -> None:
        grad_dense = np.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
        grad = sparse_to_dense_gradient(self.ids, self.counts, grad_dense)
        assert grad.tolist() == [[[3, 1, 0], [5, 5, 0]]]

    def test_a_neuron_takes_the_gradient_of_its_slots(self) -> None:
        grad_slots = np.array([[[1.0, 2.0, np.nan], [3.0, 4.0, np.nan]]])
        grad = dense_to_sparse_gradient(self.ids, self.counts, 3, grad_slots)
        assert grad.tolist() == [[[2, 0, 1], [0, 7, 0]]]

    @given(shapes, st.integers(0, 999))
    def test_are_each_others_transpose(self, shape: Any, seed: int) -> None:
        """A linear map A and its gradient satisfy <x, A y> = <A' x, y>."""
        ids, counts = dense_to_sparse(bits(shape, seed, 0.5))
        rng = np.random.Generator(np.random.PCG64(seed))
        x, y = rng.normal(size=shape), rng.normal(size=ids.shape)
        left = np.sum(x * dense_to_sparse_gradient(ids, counts, shape[2], y))
        right = np.sum(sparse_to_dense_gradient(ids, counts, x) * y)
        assert left == pytest.approx(right, rel=1e-12, abs=1e-12)

    def test_refuse_what_does_not_fit(self) -> None:
        with pytest.raises(ValueError, match=r"ids\[0, 0, 0\] is 2; it must be 0 to 1"):
            sparse_to_dense_gradient(self.ids, self.counts, np.zeros((1, 2, 2)))
        with pytest.raises(ValueError, match=r"grad_slots must have shape \(1, 2, 3\)"):
            dense_to_sparse_gradient(self.ids, self.counts, 3, np.zeros((1, 2, 2)))


class TestCheckShape:
    def test_names_both_shapes(self) -> None:
        check_shape("u", np.zeros((2, 3)), (2, 3))
        with pytest.raises(ValueError, match=r"^u must have shape \(3, 2\); got \(2, 3\)$"):
            check_shape("u", np.zeros((2, 3)), (3, 2))


class TestCheckSpikes:
    ids = np.array([[[0, 1], [1, 2]], [[2, 0], [0, 0]]])
    counts = np.array([[2, 2], [1, 0]])

    def test_accepts_spikes(self) -> None:
        check_spikes(self.ids, self.counts, 3)
        check_spikes(self.ids.astype(np.uint16), self.counts.astype(np.int8), 3)

    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            ((0, 1, 1), 3, r"^ids\[0, 1, 1\] is 3; it must be 0 to 2$"),
            ((1, 0, 0), -1, r"^ids\[1, 0, 0\] is -1; it must be 0 to 2$"),
            ((1, 0, 1), -1, None),
            ((1, 1, 0), 99, None),
        ],
    )
    def test_names_the_id_out_of_range(self, place: Any, value: int, message: Any) -> None:
        ids = self.ids.copy()
        ids[place] = value
        refused(ids, self.counts, message)

    @pytest.mark.parametrize("value", [-1, 3])
    def test_names_the_count_out_of_range(self, value: int) -> None:
        counts = self.counts.copy()
        counts[1, 0] = value
        refused(self.ids, counts, rf"^counts\[1, 0\] is {value}; it must be 0 to 2, the slots$")

    def test_names_the_wrong_dtype(self) -> None:
        refused(self.ids.astype(np.float32), self.counts, "^ids must be integers; got float32$")
        refused(self.ids, self.counts > 0, "^counts must be integers; got bool$")

    def test_names_the_wrong_shape(self) -> None:
        refused(
            self.ids[0], self.counts, r"^ids must be \[time, batch, slots\]; got shape \(2, 2\)"
        )
        refused(self.ids, self.counts[0], r"^counts must be \[time, batch\]; got shape \(2,\)$")
        refused(self.ids[:1], self.counts, r"share time and batch; .* \(1, 2, 2\) and \(2, 2\)$")


def refused(ids: np.ndarray, counts: np.ndarray, message: Optional[str]) -> None:
    """None: it is accepted."""
    if message is None:
        check_spikes(ids, counts, 3)
        return
    with pytest.raises(ValueError, match=message):
        check_spikes(ids, counts, 3)
