"""Adam, by TensorFlow's own fused kernel, with its state where a checkpoint can reach it.

A Keras optimizer would do the same sums, but Keras 2 and 3 keep their slots differently.
"""

from __future__ import annotations

from typing import List, Sequence

import numpy as np
import tensorflow as tf

from ipulse import spec


class Adam:
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2, elementwise on float32 weights;
    w -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon) at step t, from 1, where the
    rate is each step's own."""

    def __init__(self, settings: spec.Adam, weights: Sequence[tf.Variable]) -> None:
        self._settings = settings
        self._weights = list(weights)
        self._means = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]
        self._squares = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]

    def apply(self, gradients: Sequence[tf.Tensor], step: tf.Tensor, rate: tf.Tensor) -> None:
        """Changes the weights. `step` is an integer scalar: this is the step-th update, from 1;
        `rate` is a float32 scalar."""
        settings = self._settings
        # In double, because beta_2^t of a float32 beta_2 is off by percents after many steps.
        t = tf.cast(step, tf.float64)
        beta_1_power = tf.cast(tf.pow(tf.constant(settings.beta_1, tf.float64), t), tf.float32)
        beta_2_power = tf.cast(tf.pow(tf.constant(settings.beta_2, tf.float64), t), tf.float32)
        for weight, mean, square, gradient in zip(
            self._weights, self._means, self._squares, gradients
        ):
            tf.raw_ops.ResourceApplyAdam(
                var=weight.handle,
                m=mean.handle,
                v=square.handle,
                beta1_power=beta_1_power,
                beta2_power=beta_2_power,
                lr=rate,
                beta1=settings.beta_1,
                beta2=settings.beta_2,
                epsilon=settings.epsilon,
                grad=gradient,
            )

    @property
    def means(self) -> List[np.ndarray]:
        return [mean.numpy() for mean in self._means]

    @property
    def squares(self) -> List[np.ndarray]:
        return [square.numpy() for square in self._squares]

    def restore(self, means: Sequence[np.ndarray], squares: Sequence[np.ndarray]) -> None:
        for variable, value in zip(self._means + self._squares, [*means, *squares]):
            variable.assign(value)
