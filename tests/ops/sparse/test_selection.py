"""select_spikes as an op: compared with the NumPy reference."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.reference import select_spikes as reference
from ipulse_ops.sparse import select_spikes
from tests.ops.strategies import SURROGATES

INVALID = (ValueError, tf.errors.InvalidArgumentError)


def membranes(rng: np.random.Generator, shape: Tuple[int, ...], ties: bool) -> np.ndarray:
    u = rng.normal(0.5, 1, shape)
    return (np.round(u * 2) / 2 if ties else u).astype(np.float32)


class TestForward:
    @given(st.data())
    @settings(max_examples=60)
    def test_slots_are_the_references(self, data: Any) -> None:
        rng = np.random.Generator(np.random.PCG64(data.draw(st.integers(0, 2**32 - 1))))
        neurons, steps, batch = (data.draw(st.integers(1, top)) for top in (70, 4, 3))
        u = membranes(rng, (steps, batch, neurons), ties=data.draw(st.booleans()))
        u[rng.random(u.shape) < 0.02] = np.nan
        threshold = rng.choice([0.5, 1.0], neurons).astype(np.float32)
        second = threshold / 2 if data.draw(st.booleans()) else None
        capacity = data.draw(st.none() | st.integers(1, neurons))
        policy = data.draw(st.sampled_from(reference.POLICIES))
        seed, layer = data.draw(st.sampled_from([0, 7, 2**64 - 1])), data.draw(st.integers(0, 2))
        offsets = None
        if policy == "cyclic":
            offsets = reference.cyclic_offsets(seed, layer, steps, batch, neurons)
        expected = reference.select_spikes(u, threshold, second, capacity, policy, offsets)
        actual = select_spikes(u, threshold, second, capacity, policy, seed=seed, layer=layer)
        for ours, theirs in zip(actual, expected):
            assert ours.dtype == tf.float32
            np.testing.assert_array_equal(ours, theirs)

    def test_one_step_at_a_time_is_the_sequence(self) -> None:
        """A cell passes its own step, so that the policy cyclic draws what a sequence would."""
        rng = np.random.Generator(np.random.PCG64(1))
        u = membranes(rng, (5, 3, 20), ties=False)
        whole = select_spikes(u, 0.5, None, 4, "cyclic", seed=9)

        @tf.function
        def step(seed: Any, t: Any, u: Any) -> Any:
            return select_spikes(u, 0.5, None, 4, "cyclic", seed=seed, first_step=t)

        for t in range(5):
            actual = step(tf.constant(9, tf.int64), tf.constant(t), u[t])
            for one, all_of_them in zip(actual, whole):
                np.testing.assert_array_equal(one, all_of_them[t])
        assert len({tuple(row) for row in whole.ids.numpy()[:, 0]}) > 1

    def test_denormal_membranes_are_above_zero(self) -> None:
        """TensorFlow's threads take denormal numbers for zeros; the op must not."""
        tiny = np.full((1, 4), 1e-42, np.float32)
        assert select_spikes(tiny, 0.0).counts.numpy().tolist() == [[4, 4]]

    def test_nothing_to_choose_from(self) -> None:
        empty = select_spikes(np.zeros((0, 3, 5), np.float32), 1.0, 0.5, 2)
        assert [tensor.shape.as_list() for tensor in empty] == [[0, 3, 2], [0, 3, 2], [0, 3]]

    @pytest.mark.old_python
    def test_shapes_are_known_while_tracing(self) -> None:
        @tf.function(input_signature=[tf.TensorSpec([None, 4, 9], tf.float32)])
        def traced(u: Any) -> Any:
            actual = select_spikes(u, 1.0, None, 3)
            shapes = [tensor.shape.as_list() for tensor in actual]
            assert shapes == [[None, 4, 3], [None, 4, 2], [None, 4]]
            return actual.ids

        traced(np.zeros((2, 4, 9), np.float32))


class TestGradient:
    @pytest.mark.old_python
    @pytest.mark.parametrize("surrogate", SURROGATES, ids=lambda s: type(s).__name__)
    @pytest.mark.parametrize("second", [None, 0.2])
    def test_it_is_the_references(self, surrogate: Any, second: Optional[float]) -> None:
        rng = np.random.Generator(np.random.PCG64(2))
        u = membranes(rng, (6, 4, 30), ties=False)
        threshold = rng.uniform(0.5, 1, 30).astype(np.float32)
        grad = rng.normal(size=(6, 4, 12)).astype(np.float32)
        membrane, limit = tf.constant(u), tf.constant(threshold)
        with tf.GradientTape() as tape:
            tape.watch([membrane, limit])
            actual = select_spikes(membrane, limit, second, 12, surrogate=surrogate)
            # The counts have no gradient, but a loss may use them.
            loss = tf.reduce_sum(actual.ids * grad) + tf.reduce_sum(actual.counts)
        by_u, by_threshold = tape.gradient(loss, [membrane, limit])
        expected = reference.select_spikes(u, threshold, second, 12)
        u_expected, threshold_expected = reference.select_spikes_gradients(
            u.astype(np.float64), threshold.astype(np.float64), expected, surrogate, grad
        )
        np.testing.assert_allclose(by_u, u_expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(by_threshold, threshold_expected, rtol=1e-5, atol=1e-6)
        assert np.abs(u_expected).max() > 0.01

    def test_a_shared_threshold_gets_the_sum(self) -> None:
        u = np.full((1, 2, 3), 1.5, np.float32)
        threshold = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(select_spikes(u, threshold).ids)
        # 6 slots of slope 10 at a distance of 1/2.
        assert float(tape.gradient(loss, threshold)) == pytest.approx(-6 / 36)


def test_a_surrogate_by_its_name() -> None:
    u = tf.Variable([[0.5, 1.5]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(select_spikes(u, 1.0, surrogate="arctan").ids)
    np.testing.assert_allclose(tape.gradient(loss, u), [[1 / 26, 1 / 26]], rtol=1e-6)


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"capacity": 6}, "capacity must be 1 to 5; got 6"),
            ({"capacity": 0}, "capacity must be at least 1; got 0"),
            ({"policy": "first"}, "policy must be index, cyclic or top; got first"),
            ({"second_threshold": [0, 0, 2, 0, 0]}, "neuron 2 has 2 above 1"),
            ({"threshold": [1.0, 1.0]}, r"thresholds must be one number or shape \[5\]; got \[2\]"),
            ({"u": np.zeros(5, np.float32)}, "[Rr]ank|must be .*batch, neurons"),
            ({"seed": 2**64}, r"seed must be 0 to 2\^64 - 1"),
            ({"capacity": 2.5}, "capacity must be a whole number; got 2.5"),
            ({"seed": 1.5}, "seed must be one whole number; got float32"),
            ({"first_step": -1}, "first_step must be 0 to 2147483647; got -1"),
            ({"layer": -1}, "layer must be at least 0; got -1"),
            ({"surrogate": "sine"}, "surrogate must be superspike, .* or table; got sine"),
        ],
    )
    def test_what_does_not_fit_is_named(self, change: Any, message: str) -> None:
        arguments = {"u": np.zeros((2, 5), np.float32), "threshold": 1.0, **change}
        with pytest.raises(INVALID, match=message):
            select_spikes(**arguments)
        with pytest.raises(INVALID, match=message):
            tf.function(lambda: select_spikes(**arguments))()
