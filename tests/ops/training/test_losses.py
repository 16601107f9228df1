"""Losses and their gradients by the float64 formulas, straight from spikes and membranes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.training import losses
from ipulse_ops.training.regularisers import lower_bound, upper_bound
from ipulse_ops.training.spike_totals import layer_totals, spike_totals

SEED = 20
TIME, BATCH, CLASSES = 5, 4, 3
LABELS = np.array([2, 0, 1, 1], np.int32)
RIGHT = np.eye(CLASSES)[LABELS]


def softmax(logits: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    return shares


def cross_entropy(logits: np.ndarray) -> np.ndarray:
    return -np.log((softmax(logits) * RIGHT).sum(axis=-1))


def mean_loss(membrane: np.ndarray) -> np.ndarray:
    return cross_entropy(membrane.mean(axis=0))


def max_loss(membrane: np.ndarray) -> np.ndarray:
    return cross_entropy(membrane.max(axis=0))


def step_loss(membrane: np.ndarray) -> np.ndarray:
    return cross_entropy(membrane).mean(axis=0)


MEMBRANE_LOSSES = [
    (losses.mean_membrane_cross_entropy, mean_loss),
    (losses.max_membrane_cross_entropy, max_loss),
    (losses.step_cross_entropy, step_loss),
]


@pytest.fixture
def membrane() -> np.ndarray:
    return np.random.RandomState(SEED).randn(TIME, BATCH, CLASSES)


class TestOfAMembrane:
    @pytest.mark.parametrize("label", [-1, CLASSES])
    def test_a_label_that_is_no_class_is_an_error(self, label: int) -> None:
        with pytest.raises(tf.errors.InvalidArgumentError, match="label"):
            losses.cross_entropy(tf.zeros([BATCH, CLASSES]), [0, label, 1, 1])

    @pytest.mark.old_python
    @pytest.mark.parametrize(("ours", "formula"), MEMBRANE_LOSSES)
    def test_is_the_formulas(self, ours: Any, formula: Any, membrane: np.ndarray) -> None:
        grad_ids = ours(tf.constant(membrane, tf.float32), LABELS)
        np.testing.assert_allclose(grad_ids, formula(membrane), rtol=1e-5)

    @pytest.mark.parametrize(("ours", "formula"), MEMBRANE_LOSSES)
    def test_gradient_is_the_finite_differences(
        self, ours: Any, formula: Any, membrane: np.ndarray
    ) -> None:
        variable = tf.constant(membrane, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            loss = tf.reduce_mean(ours(variable, LABELS))
        grad_ids = tape.gradient(loss, variable).numpy()
        expected = differences(lambda m: float(formula(m).mean()), membrane)
        np.testing.assert_allclose(grad_ids, expected, rtol=1e-4, atol=1e-6)

    def test_predictions(self) -> None:
        """Class 0 has the largest mean, class 1 the largest value, class 2 leads most often."""
        membrane = np.zeros((5, 1, 3), np.float32)
        membrane[:, 0, 0] = [0.6, 0.0, 0.0, 0.0, 8.0]
        membrane[:, 0, 1] = [-8.0, 0.1, 0.1, 9.0, 0.0]
        membrane[:, 0, 2] = [0.7, 0.2, 0.2, 0.3, 0.0]
        assert losses.predicted_by_mean(membrane).numpy().tolist() == [0]
        assert losses.predicted_by_max(membrane).numpy().tolist() == [1]
        assert losses.predicted_by_steps(membrane).numpy().tolist() == [2]


class TestOfSpikes:
    @pytest.mark.old_python
    def test_cross_entropy_and_mse(self) -> None:
        spikes = np.array([[0, 3, 9], [4, 4, 0], [1, 0, 0], [0, 0, 0]], np.float32)
        np.testing.assert_allclose(
            losses.spike_count_cross_entropy(spikes, LABELS),
            cross_entropy(spikes),
            rtol=1e-5,
            atol=1e-7,
        )
        grad_ids = losses.spike_count_mse(tf.constant(spikes), LABELS, right=5.0, wrong=1.0)
        by_hand = [(1 + 4 + 16) / 3, (1 + 9 + 1) / 3, (0 + 25 + 1) / 3, (1 + 25 + 1) / 3]
        np.testing.assert_allclose(grad_ids, by_hand, rtol=1e-6)
        assert losses.predicted_by_spikes(spikes).numpy().tolist() == [2, 0, 0, 0]


# Two steps, two samples, three slots of five neurons: spikes first, then gradient-only ones.
IDS = np.array([[[1, 4, 2], [3, 0, 0]], [[1, 0, 0], [0, 3, 4]]], np.float32)
COUNTS = np.array([[[2, 3], [0, 1]], [[1, 1], [3, 3]]], np.float32)
TOTALS = [[0, 2, 0, 0, 1], [1, 0, 0, 1, 1]]


class TestSpikeTotals:
    def test_counts_spikes_and_not_gradient_only_neurons(self) -> None:
        assert spike_totals(IDS, COUNTS, 5).numpy().tolist() == TOTALS
        assert layer_totals(IDS, COUNTS).numpy().tolist() == [3, 3]

    def test_gradient_reaches_every_filled_slot(self) -> None:
        """Neuron n has weight n + 1 in sample 0 and ten times that in sample 1."""
        weights = tf.constant([[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]], tf.float32)
        grad_ids = gradient(lambda ids: tf.reduce_sum(weights * spike_totals(ids, COUNTS, 5)))
        assert grad_ids.tolist() == [[[2, 5, 3], [40, 0, 0]], [[2, 0, 0], [10, 40, 50]]]
        both = tf.constant([1.0, 10.0])
        grad_ids = gradient(lambda ids: tf.reduce_sum(both * layer_totals(ids, COUNTS)))
        assert grad_ids.tolist() == [[[1, 1, 1], [10, 0, 0]], [[1, 0, 0], [10, 10, 10]]]


class TestRegularisers:
    def test_lower_bound(self) -> None:
        expected = np.mean((1.5 - np.minimum(TOTALS, 1.5)) ** 2)
        np.testing.assert_allclose(lower_bound(IDS, COUNTS, 5, 1.5), expected, rtol=1e-6)
        grad_ids = gradient(lambda ids: lower_bound(ids, COUNTS, 5, 1.5))
        # d/dc of (1.5 - c)^2 / 10: -0.3 of a silent neuron, -0.1 at one spike, 0 at two.
        expected = [[[0, -0.1, -0.3], [-0.1, 0, 0]], [[0, 0, 0], [-0.1, -0.1, -0.1]]]
        np.testing.assert_allclose(grad_ids, expected, rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("power", [1, 2])
    def test_upper_bound(self, power: int) -> None:
        """Both samples have 3 spikes of 5 neurons, 0.6 of each."""
        grad_ids = upper_bound(IDS, COUNTS, 5, 0.1, power)
        np.testing.assert_allclose(grad_ids, 0.5**power, rtol=1e-6)
        grad_ids = gradient(lambda ids: upper_bound(ids, COUNTS, 5, 0.1, power))
        slope = 1 / 10 if power == 1 else 2 * 0.5 / 10
        filled = np.arange(3) < COUNTS[..., 1:]
        np.testing.assert_allclose(grad_ids, np.where(filled, slope, 0), rtol=1e-6)

    def test_within_its_bounds_a_layer_is_left_alone(self) -> None:
        assert lower_bound(IDS[:, 1:], COUNTS[:, 1:], 5, 0.0).numpy() == 0
        assert upper_bound(IDS, COUNTS, 5, 0.7).numpy() == 0
        assert not gradient(lambda ids: upper_bound(ids, COUNTS, 5, 0.7)).any()


def gradient(function: Callable[[Any], Any]) -> np.ndarray:
    """Return the gradient of the ids: dL/ds of their slots."""
    ids = tf.constant(IDS)
    with tf.GradientTape() as tape:
        tape.watch(ids)
        value = function(ids)
    grad_ids: np.ndarray = tape.gradient(value, ids).numpy()
    return grad_ids


def differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    grad_ids = np.zeros(at.shape)
    for place in np.ndindex(*at.shape):
        above, below = at.copy(), at.copy()
        above[place] += 1e-6
        below[place] -= 1e-6
        grad_ids[place] = (function(above) - function(below)) / 2e-6
    return grad_ids
