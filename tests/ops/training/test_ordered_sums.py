"""Sums and the cross-entropy, in the written order and near the exact values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.training.losses import cross_entropy
from ipulse_ops.training.ordered_sums import exact_total, mean, total

pytestmark = pytest.mark.old_python

RNG = np.random.Generator(np.random.PCG64(1))


def folded(values: np.ndarray) -> float:
    """The sum in eight lanes, folded by halves."""
    lanes = [0.0] * 8
    for number, value in enumerate(values.ravel().tolist()):
        lanes[number % 8] += value
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [one + two for one, two in zip(lanes[:half], lanes[half:])]
    return lanes[0]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1003])
def test_totals_have_the_written_order(size: int) -> None:
    values = (RNG.normal(size=size) * np.exp2(RNG.integers(-60, 60, size))).astype(np.float32)
    exact = values.astype(np.float64)
    assert exact_total(values).numpy() == folded(exact)
    assert exact_total(values, squares=True).numpy() == folded(exact * exact)
    assert total(tf.constant(values)).numpy() == np.float32(folded(exact))
    assert mean(tf.constant(values)).numpy() == np.float32(folded(exact) / size)


@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 4), (1, 1)])
def test_means_over_the_first_axis_and_the_last(shape: Any) -> None:
    values = RNG.normal(size=shape).astype(np.float32)
    sums = np.zeros(shape[1:])
    for step in values:
        sums = sums + step
    found = mean(tf.constant(values), axis=0).numpy()
    np.testing.assert_array_equal(found, (sums / shape[0]).astype(np.float32))
    rows = values.reshape(-1, shape[-1])
    by_row = [np.float32(folded(row.astype(np.float64)) / shape[-1]) for row in rows]
    found = mean(tf.constant(values), axis=-1).numpy()
    np.testing.assert_array_equal(found.ravel(), by_row)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_gradients_are_shares(axis: Any) -> None:
    values = tf.constant(RNG.normal(size=(3, 4, 5)).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(values)
        found = mean(values, axis=axis)
        weights = tf.constant(RNG.normal(size=found.shape).astype(np.float32))
        loss = tf.reduce_sum(found * weights)
    count = {None: 60, 0: 3, -1: 5}[axis]
    by_mean = weights.numpy() * np.float32(1 / count)
    expected = by_mean[..., np.newaxis] if axis == -1 else by_mean
    gradient = tape.gradient(loss, values).numpy()
    np.testing.assert_array_equal(gradient, np.broadcast_to(expected, (3, 4, 5)))


def test_cross_entropies_are_rounded_once() -> None:
    logits = (RNG.normal(size=(200, 10)) * 20).astype(np.float32)
    labels = RNG.integers(0, 10, 200)
    given = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = cross_entropy(given, tf.constant(labels))
    gradient = tape.gradient(loss, given).numpy()
    for row, label, one, by_logits in zip(logits, labels, loss.numpy(), gradient):
        shifted = [float(x) - float(row.max()) for x in row]
        terms = [math.exp(x) for x in shifted]
        whole = math.fsum(terms)
        assert one == pytest.approx(math.log(whole) - shifted[label], rel=1e-7, abs=1e-15)
        expected = [term / whole - (k == label) for k, term in enumerate(terms)]
        np.testing.assert_allclose(by_logits, expected, rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_that_are_not_finite_are_noticed(value: float) -> None:
    loss = cross_entropy(tf.constant([[0.0, value, 1.0]]), tf.constant([0]))
    assert not np.isfinite(loss.numpy()).any()


def test_certain_predictions_have_no_tiny_gradient() -> None:
    """Derivatives below 2^-80 are zero, although a float32 could hold them."""
    given = tf.constant([[0.0, -50.0, -60.0, -200.0, -2000.0]])
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = cross_entropy(given, tf.constant([0]))
    assert loss.numpy()[0] == 0.0
    gradient = tape.gradient(loss, given).numpy()[0]
    assert gradient[1] == np.float32(math.exp(-50.0))
    np.testing.assert_array_equal(gradient[2:], np.zeros(3))


def test_second_order_gradients_are_refused() -> None:
    """The derivative of the op's own derivative is not zero."""
    given = tf.constant([[0.0, 1.0, 2.0]])
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as inner:
            inner.watch(given)
            loss = cross_entropy(given, tf.constant([0]))
        gradient = inner.gradient(loss, given)
    with pytest.raises(NotImplementedError, match="second-order gradients"):
        outer.gradient(gradient, given)
