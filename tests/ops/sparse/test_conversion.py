"""sparse_to_dense, dense_to_sparse and random_spikes as ops: compared with the NumPy reference."""

from __future__ import annotations

from typing import Optional

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.reference import random_spikes as random_reference
from ipulse_ops.reference import spikes as reference
from ipulse_ops.sparse import dense_to_sparse, random_spikes, sparse_to_dense
from tests.ops.strategies import random_spikes as some_spikes


class TestSparseToDense:
    @pytest.mark.old_python
    @pytest.mark.parametrize("duplicates", [False, True])
    def test_value_and_gradient(self, duplicates: bool) -> None:
        rng = np.random.Generator(np.random.PCG64(5))
        ids, filled = some_spikes(rng, 4, 3, 20, 9, duplicates)
        spikes = rng.integers(0, filled + 1).astype(np.int32)
        grad = rng.normal(size=(4, 3, 20)).astype(np.float32)
        places = tf.constant(ids.astype(np.float32))
        with tf.GradientTape() as tape:
            tape.watch(places)
            dense = sparse_to_dense(places, np.stack([spikes, filled], -1), 20)
            loss = tf.reduce_sum(dense * grad)
        np.testing.assert_array_equal(dense, reference.sparse_to_dense(ids, spikes, 20))
        baseline = reference.sparse_to_dense_gradient(ids, filled, grad)
        np.testing.assert_array_equal(tape.gradient(loss, places), baseline)
        assert (dense.numpy().max() > 1) == duplicates

    def test_one_count_is_of_both(self) -> None:
        ids = np.array([[3, 1, 0]], np.uint16)
        assert sparse_to_dense(ids, [2], 4).numpy().tolist() == [[0, 1, 0, 1]]

    def test_wrong_ids_are_named(self) -> None:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[0, 1\] is 4; .* 0 to 3"):
            sparse_to_dense([[3, 4]], [2], 4)


class TestDenseToSparse:
    @pytest.mark.old_python
    @pytest.mark.parametrize("capacity", [None, 20])
    @pytest.mark.parametrize("dtype", [bool, np.int32, np.float32])
    def test_value_and_gradient(self, capacity: Optional[int], dtype: type) -> None:
        rng = np.random.Generator(np.random.PCG64(6))
        dense = (rng.random((4, 3, 20)) < 0.3).astype(dtype)
        baseline = reference.dense_to_sparse(dense, capacity)
        watched = tf.constant(dense.astype(np.float32))
        grad = rng.normal(size=baseline[0].shape).astype(np.float32)
        with tf.GradientTape() as tape:
            tape.watch(watched)
            loss = tf.reduce_sum(dense_to_sparse(watched, capacity)[0] * grad)
        for ours, theirs in zip(dense_to_sparse(dense, capacity), baseline):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(
            tape.gradient(loss, watched), reference.dense_to_sparse_gradient(*baseline, 20, grad)
        )

    def test_what_is_no_spike_is_named(self) -> None:
        dense = np.zeros((2, 3, 4))
        dense[1, 2, 0] = 0.5
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"dense\[1, 2, 0\] is 0.5"):
            dense_to_sparse(dense)

    def test_too_small_a_capacity_names_the_fullest(self) -> None:
        dense = np.zeros((2, 3, 4))
        dense[1, 2] = 1
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"\[1, 2\] has 4 spikes; set capacity to .* 4"
        ):
            dense_to_sparse(dense, 3)


class TestRandomSpikes:
    @pytest.mark.old_python
    @pytest.mark.parametrize("seed", [0, 5, 2**63, 2**64 - 1])
    def test_every_bit_is_the_references(self, seed: int) -> None:
        rng = np.random.Generator(np.random.PCG64(7))
        counts = rng.integers(0, 32, (5, 4))
        ours = random_spikes(seed, counts, 31)
        np.testing.assert_array_equal(ours, random_reference.random_spikes(seed, counts, 31))

    def test_slots_and_a_seed_that_changes_without_retracing(self) -> None:
        traced = tf.function(lambda seed: random_spikes(seed, [[3, 0]], 100, slots=6))
        seeds = [tf.constant(seed, tf.int64) for seed in (1, 2)]
        first, second = (traced(seed).numpy() for seed in seeds)
        np.testing.assert_array_equal(first, random_reference.random_spikes(1, [[3, 0]], 100, 6))
        assert not np.array_equal(first, second)

    def test_wrong_counts_are_named(self) -> None:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"counts\[0, 1\] is 8; .* 0 to 7"):
            random_spikes(1, [[3, 8]], 7)
        with pytest.raises(tf.errors.InvalidArgumentError, match="slots must be at least 3; got 2"):
            random_spikes(1, [[3, 1]], 7, slots=2)
