"""spike_matmul as an op: compared with the NumPy reference."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.reference import spike_matmul as reference
from ipulse_ops.sparse import select_spikes, spike_matmul
from tests.ops.strategies import random_spikes

INVALID = (ValueError, tf.errors.InvalidArgumentError)
DTYPES = (np.float32, np.int32, np.int64, np.uint16)


class TestProduct:
    @pytest.mark.old_python
    @given(st.data())
    @settings(max_examples=40)
    def test_value_and_gradients_are_the_references(self, data: Any) -> None:
        """Dyadic numbers, of which sums are exact: equal to the bit."""
        rng = np.random.Generator(np.random.PCG64(data.draw(st.integers(0, 2**32 - 1))))
        n_in, n_out = (
            data.draw(st.integers(1, 40)),
            data.draw(st.sampled_from([1, 15, 16, 33, 600])),
        )
        duplicates, pair = data.draw(st.booleans()), data.draw(st.booleans())
        slots = data.draw(st.integers(1, n_in))
        ids, counts = random_spikes(rng, 3, 2, n_in, slots, duplicates)
        if pair:
            counts = np.stack([rng.integers(0, counts + 1), counts], axis=-1).astype(np.int32)
        weights = (rng.integers(-16, 17, (n_in, n_out)) / 64).astype(np.float32)
        grad = (rng.integers(-8, 9, (3, 2, n_out)) / 4).astype(np.float32)
        ids_dtype = data.draw(st.sampled_from(DTYPES))
        matrix, places = tf.constant(weights), tf.constant(ids.astype(ids_dtype))
        numbers = counts.astype(data.draw(st.sampled_from([np.float32, np.int32, np.int64])))
        with tf.GradientTape() as tape:
            tape.watch(matrix)
            if ids_dtype == np.float32:
                tape.watch(places)
            product = spike_matmul(matrix, places, numbers)
            loss = tf.reduce_sum(product * grad)
        by_weights, by_slots = tape.gradient(loss, [matrix, places])
        np.testing.assert_array_equal(product, reference.spike_matmul(weights, ids, counts))
        judges = reference.spike_matmul_gradients(weights, ids, counts, grad)
        np.testing.assert_array_equal(by_weights, judges[0])
        if ids_dtype == np.float32:
            np.testing.assert_array_equal(by_slots, judges[1])
        else:
            assert by_slots is None

    def test_floats_in_the_order_of_slots(self) -> None:
        """Not only near the float64 sum, but the float32 sum in that order to the bit."""
        rng = np.random.Generator(np.random.PCG64(3))
        weights = rng.normal(size=(50, 37)).astype(np.float32)
        ids, counts = random_spikes(rng, 4, 3, 50, 20)
        product = spike_matmul(weights, ids, counts).numpy()
        for t, b in np.ndindex(4, 3):
            total = np.zeros(37, np.float32)
            for k in range(counts[t, b]):
                total += weights[ids[t, b, k]]
            np.testing.assert_array_equal(product[t, b], total)

    @pytest.mark.old_python
    def test_inside_a_loop_that_is_differentiated(self) -> None:
        """The counts are float32: as integers they would have no gradient, and the loop's
        derivative would meet None."""
        rng = np.random.Generator(np.random.PCG64(4))
        weights = tf.constant(rng.normal(size=(12, 12)).astype(np.float32) / 3)
        start = rng.normal(1, 1, (3, 12)).astype(np.float32)

        def run(weights: Any) -> Any:
            u = tf.constant(start)
            ids, counts = tf.zeros([3, 5]), tf.zeros([3, 2])
            for _ in tf.range(4):
                u = 0.5 * u + spike_matmul(weights, ids, counts)
                ids, counts, _ = select_spikes(u, 0.5, None, 5)
            return tf.reduce_sum(u**2) + tf.reduce_sum(ids)

        def gradient(weights: Any) -> List[Any]:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                loss = run(weights)
            return [loss, tape.gradient(loss, weights)]

        looped, unrolled = tf.function(gradient)(weights), gradient(weights)
        for one, other in zip(looped, unrolled):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert np.abs(unrolled[1]).max() > 0


class TestBadInput:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_ids_out_of_range_are_named(self, dtype: Any) -> None:
        ids = np.zeros((2, 3, 4), dtype)
        ids[1, 2, 3] = 5
        ids[0, 1, 2] = 7  # behind the counts: nobody looks
        counts = np.full((2, 3), 4, np.int32)
        counts[0] = 1
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[1, 2, 3\] is 5; .* 0 to 4"):
            spike_matmul(np.zeros((5, 2), np.float32), ids, counts)

    @pytest.mark.parametrize("wrong", [-1.0, 0.5, np.nan, np.inf, 1e30])
    def test_ids_that_are_no_ids(self, wrong: float) -> None:
        ids = np.array([[wrong, 0]], np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[0, 0\] is"):
            spike_matmul(np.zeros((5, 2), np.float32), ids, np.array([2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"counts\[0\] is .* 0 to 2, the"):
            spike_matmul(np.zeros((5, 2), np.float32), np.zeros((1, 2), np.float32), ids[0, :1])

    def test_other_types_are_read_as_whole_numbers(self) -> None:
        weights = np.eye(3, dtype=np.float32)
        product = spike_matmul(weights, np.array([[2.0]]), np.array([1], np.int8))
        np.testing.assert_array_equal(product, [[0, 0, 1]])
        with pytest.raises(ValueError, match="ids must be whole numbers; got bool"):
            spike_matmul(weights, np.array([[True]]), np.array([1]))
        with pytest.raises(ValueError, match="counts must be a tensor; got None"):
            spike_matmul(weights, np.array([[2]]), None)

    def test_shapes_that_do_not_fit(self) -> None:
        weights = np.zeros((5, 2), np.float32)
        for ids, counts in (((2, 3, 4), (2, 2)), ((2, 3, 4), (2, 3, 1)), ((4,), (1,))):
            spikes = np.zeros(ids, np.int32), np.zeros(counts, np.int32)
            with pytest.raises(INVALID):
                spike_matmul(weights, *spikes)
            with pytest.raises(INVALID):
                tf.function(lambda spikes=spikes: spike_matmul(weights, *spikes))()

    def test_more_spikes_than_filled_slots(self) -> None:
        ids, counts = np.zeros((1, 2), np.float32), np.array([[2, 1]])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"counts\[0\] .* got \(2, 1\)"):
            spike_matmul(np.zeros((5, 2), np.float32), ids, counts)
