"""Record learning curves of random settings, which tests of early stopping replay.

    python -m benchmarks.training learning-curves --output FILE

A spiking network trains on handwritten digits, each time with another learning rate, size and
decay. A row is one training, with its test accuracy after each epoch.
"""

from __future__ import annotations

import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF

STEPS, TRAINED, BATCH = 20, 800, 50


def measure(count: int, epochs: int, seed: int) -> list[Row]:
    """Return a row for each training."""
    numbers = random.Random(seed)
    rng = np.random.default_rng(seed)
    digits = load_digits()
    images, labels = digits.data / 16, digits.target
    spikes = (rng.random((STEPS, *images.shape)) < 0.5 * images).astype(np.float32)
    rows: list[Row] = []
    for number in range(count):
        settings = {
            "learning_rate": 10 ** numbers.uniform(-4.5, -0.3),
            "neurons": numbers.choice([8, 16, 32, 64]),
            "decay": numbers.choice([0.5, 0.8, 0.9, 0.95]),
        }
        accuracies = _train(spikes, labels, settings, epochs, seed + number)
        named = {f"epoch_{epoch}": round(a, 4) for epoch, a in enumerate(accuracies, 1)}
        rows.append({**settings, "learning_rate": round(settings["learning_rate"], 6), **named})
    return rows


def _train(
    spikes: np.ndarray, labels: np.ndarray, settings: dict[str, float], epochs: int, seed: int
) -> list[float]:
    """Return the test accuracy after each epoch."""
    tf.keras.utils.set_random_seed(seed)
    net = MultiLIF(
        inputs=spikes.shape[2],
        layers=[LIF(neurons=settings["neurons"], decay=settings["decay"])],
        readout=LeakyReadout(neurons=10),
    )
    optimizer = tf.keras.optimizers.Adam(settings["learning_rate"])
    score = tf.nn.sparse_softmax_cross_entropy_with_logits

    @tf.function(reduce_retracing=True)
    def step(batch: tf.Tensor, targets: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            logits = tf.reduce_mean(net(batch).membrane, axis=0)
            loss = tf.reduce_mean(score(targets, logits))
        gradients = tape.gradient(loss, net.trainable_weights)
        optimizer.apply_gradients(zip(gradients, net.trainable_weights, strict=True))

    accuracies = []
    for _ in range(epochs):
        order = np.random.permutation(TRAINED)
        for first in range(0, TRAINED, BATCH):
            chosen = order[first : first + BATCH]
            step(tf.constant(spikes[:, chosen]), tf.constant(labels[chosen]))
        logits = tf.reduce_mean(net(tf.constant(spikes[:, TRAINED:])).membrane, axis=0)
        accuracies.append(float(np.mean(np.argmax(logits, axis=1) == labels[TRAINED:])))
    return accuracies


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training learning-curves", __doc__)
    parser.add_argument("--trainings", type=int, default=32, help="(%(default)s)")
    parser.add_argument("--epochs", type=int, default=27, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the settings (%(default)s)")
    options = parser.parse_args(arguments)
    finish(measure(options.trainings, options.epochs, options.seed), options.output)
