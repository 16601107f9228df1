from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ipulse_worker.runner.model.optimizer import SGD, Adam, clipped, optimizer_of
from tests.worker.runner import specs as spec

pytestmark = pytest.mark.old_python

SEED = 99


class TestSGD:
    @pytest.mark.parametrize("nesterov", [False, True])
    @pytest.mark.parametrize("momentum", [0.0, 0.75])
    def test_follows_the_formula(self, momentum: float, nesterov: bool) -> None:
        random = np.random.RandomState(SEED)
        w, a = random.randn(4, 3), np.zeros((4, 3))
        weight = tf.Variable(w.astype(np.float32))
        sgd = SGD(spec.SGD(momentum=momentum, nesterov=nesterov and momentum > 0), [weight])
        for step in range(1, 6):
            gradient = random.randn(4, 3).astype(np.float32)
            sgd.apply([tf.constant(gradient)], tf.constant(step, tf.int64), tf.constant(0.25))
            a = momentum * a + gradient
            w -= 0.25 * (gradient + momentum * a if nesterov else a)
            np.testing.assert_allclose(weight.numpy(), w, rtol=1e-5, atol=1e-6)
        assert list(sgd.slots) == (["momenta"] if momentum else [])


class TestAdamW:
    def test_lets_matrices_decay_and_nothing_else(self) -> None:
        """Without gradients only the decay is left: w (1 - rate * weight_decay)."""
        weights = [tf.Variable(tf.ones((2, 3))), tf.Variable(tf.ones(3))]
        optimizer = optimizer_of(spec.AdamW(weight_decay=0.5), weights, threads=1)
        zeros = [tf.zeros((2, 3)), tf.zeros(3)]
        optimizer.apply(zeros, tf.constant(1, tf.int64), tf.constant(0.25))
        np.testing.assert_allclose(weights[0].numpy(), 0.875)
        np.testing.assert_array_equal(weights[1].numpy(), 1.0)


class TestClipped:
    def test_by_value_first_and_then_by_the_common_norm(self) -> None:
        gradients = [tf.constant([3.0, -9.0]), tf.constant([[1.0]])]
        untouched = clipped(gradients, spec.GradientClipping())
        assert [g.numpy().tolist() for g in untouched] == [[3, -9], [[1]]]
        by_value = clipped(gradients, spec.GradientClipping(value=2.0))
        assert [g.numpy().tolist() for g in by_value] == [[2, -2], [[1]]]
        both = clipped(gradients, spec.GradientClipping(value=2.0, global_norm=1.5))
        np.testing.assert_allclose(both[0], [1, -1])
        np.testing.assert_allclose(both[1], [[0.5]])
        within = clipped(gradients, spec.GradientClipping(global_norm=100.0))
        np.testing.assert_allclose(within[0], [3, -9])


class TestAdam:
    def test_follows_the_formula(self) -> None:
        settings = spec.Adam(beta_1=0.8, beta_2=0.9, epsilon=1e-3)
        random = np.random.RandomState(SEED)
        start = random.randn(4, 3).astype(np.float32)
        weight = tf.Variable(start)
        adam = Adam(settings, [weight])

        w, m, v = start.astype(np.float64), np.zeros((4, 3)), np.zeros((4, 3))
        for step in range(1, 6):
            gradient = random.randn(4, 3).astype(np.float32)
            rate = np.float32(0.1 / step)
            adam.apply([tf.constant(gradient)], tf.constant(step, tf.int64), tf.constant(rate))
            m = 0.8 * m + 0.2 * gradient
            v = 0.9 * v + 0.1 * gradient.astype(np.float64) ** 2
            corrected = 0.1 / step * np.sqrt(1 - 0.9**step) / (1 - 0.8**step)
            w -= corrected * m / (np.sqrt(v) + 1e-3)
            np.testing.assert_allclose(weight.numpy(), w, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(adam.slots["means"][0], m, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(adam.slots["squares"][0], v, rtol=1e-5, atol=1e-6)
