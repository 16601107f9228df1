"""Keras: RNN layers over hand-written cells, in a tf.function."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.training.program import Program
from benchmarks.training.workload import CLASSES, DECAY, LEARNING_RATE, SLOPE, Workload


@tf.custom_gradient
def spike(membrane: Any) -> Any:
    """Return 1 where the membrane exceeds 1, with SuperSpike as the derivative."""

    def surrogate(grad: Any) -> Any:
        return grad / (SLOPE * tf.abs(membrane - 1) + 1) ** 2

    return tf.cast(membrane > 1, membrane.dtype), surrogate


class Leaky(keras.layers.Layer):
    """A cell that integrates and never spikes."""

    def __init__(self, matrix: np.ndarray) -> None:
        super().__init__()
        self.matrix = matrix
        self.output_size = matrix.shape[1]
        self.state_size: Any = [self.output_size]

    def build(self, shape: Any) -> None:
        """Set the workload's weights."""
        self.kernel = self.add_weight(shape=self.matrix.shape, name="kernel")
        self.kernel.assign(self.matrix)
        self.built = True

    def call(self, inputs: Any, states: Any) -> Any:
        """Advance the cell by one step."""
        membrane = DECAY * states[0] + (1 - DECAY) * tf.matmul(inputs, self.kernel)
        return membrane, [membrane]


class LIF(Leaky):
    """A cell that spikes and resets to zero; the reset passes no gradient."""

    def __init__(self, matrix: np.ndarray) -> None:
        super().__init__(matrix)
        self.state_size = [self.output_size, self.output_size]

    def call(self, inputs: Any, states: Any) -> Any:
        """Advance the cell by one step."""
        membrane, spikes = states
        membrane = DECAY * membrane * (1 - tf.stop_gradient(spikes))
        membrane += (1 - DECAY) * tf.matmul(inputs, self.kernel)
        spikes = spike(membrane)
        return spikes, [membrane, spikes]


def build(work: Workload, threads: int) -> Program:
    """Build the peer."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    kinds = (LIF, LIF, Leaky)
    cells = [kind(matrix) for kind, matrix in zip(kinds, work.weights, strict=True)]
    assert cells[-1].output_size == CLASSES
    for cell, matrix in zip(cells, work.weights, strict=True):
        cell.build((None, matrix.shape[0]))
    layers = [keras.layers.RNN(cell, return_sequences=True) for cell in cells]
    spikes = tf.constant(np.ascontiguousarray(work.spikes.transpose(1, 0, 2)))
    labels = tf.constant(work.labels)
    kernels = [cell.kernel for cell in cells]
    variables = [kernel.value for kernel in kernels]
    adam = keras.optimizers.Adam(LEARNING_RATE)
    adam.build(kernels)

    def run() -> Any:
        first = layers[0](spikes)
        second = layers[1](first)
        logits = tf.reduce_mean(layers[2](second), axis=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return tf.reduce_mean(losses), tf.reduce_mean(first), tf.reduce_mean(second)

    def loss_and_gradients() -> Any:
        with tf.GradientTape() as tape:
            loss = run()[0]
        return loss, tape.gradient(loss, variables)

    @tf.function
    def forward() -> Any:
        return run()[0]

    @tf.function
    def train() -> Any:
        loss, grads = loss_and_gradients()
        adam.apply(grads)
        return loss

    gradients = tf.function(loss_and_gradients)
    rates = tf.function(lambda: run()[1:])
    return Program(
        forward=lambda: float(forward()),
        train=lambda: float(train()),
        gradients=lambda: [grad.numpy() for grad in gradients()[1]],
        rates=lambda: [float(rate) for rate in rates()],
    )
