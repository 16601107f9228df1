from __future__ import annotations

import numpy as np
import tensorflow as tf

from ipulse import spec
from worker.runner.optimizer import Adam

SEED = 99


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
