"""Train a spiking network with plain Keras code: no service, no worker, a few seconds.

    python examples/keras_alone.py

There are four classes of spike patterns; in each, five channels spike often. The first run compiles
C++ code, which takes about a minute; the result is cached. Every run prints the same accuracy, on
one kind of processor with the same version of TensorFlow.
"""

from __future__ import annotations

import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
from ipulse_ops.reference.spikes import dense_to_sparse

STEPS, CHANNELS, CLASSES = 30, 20, 4


def set_random_seed(seed: int) -> None:
    """Seed all that Keras draws from; the same as keras.utils.set_random_seed of TensorFlow 2.7.

    Keras 3 draws initial weights from Python's generator and shuffles batches with NumPy's.
    """
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)


def patterns(samples: int, seed: int) -> tuple:
    """Return input spikes, with the batch axis first for Keras, and labels."""
    rng = np.random.Generator(np.random.PCG64(seed))
    labels = rng.integers(0, CLASSES, samples)
    rate = np.where(np.arange(CHANNELS) // 5 == labels[:, None], 0.25, 0.12)
    ids, counts = dense_to_sparse(rng.random((STEPS, samples, CHANNELS)) < rate, CHANNELS)
    return (ids.transpose(1, 0, 2), counts.T), labels


def classifier() -> tf.keras.Model:
    """Return a network of one recurrent LIF layer that outputs logits."""
    ids = tf.keras.Input((STEPS, CHANNELS), dtype="int32")
    counts = tf.keras.Input((STEPS,), dtype="int32")
    net = MultiLIF(
        inputs=CHANNELS,
        layers=[LIF(neurons=64, decay=0.9, second_threshold=0.5, recurrent=True)],
        readout=LeakyReadout(neurons=CLASSES, decay=0.95),
        trainable=["decay", "threshold"],
        time_major=False,
    )
    membrane = net(ids, counts).membrane  # [batch, time, classes]
    return tf.keras.Model([ids, counts], tf.keras.layers.GlobalAveragePooling1D()(membrane))


def main() -> None:
    """Train the network and print its accuracy on new samples."""
    set_random_seed(1)
    model = classifier()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.003),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    spikes, labels = patterns(1024, seed=1)
    model.fit(list(spikes), labels, epochs=5, batch_size=64, verbose=0)
    spikes, labels = patterns(512, seed=2)
    _, accuracy = model.evaluate(list(spikes), labels, verbose=0)
    print(f"accuracy on 512 new patterns: {accuracy:.3f}")  # noqa: T201 (a program's result)


if __name__ == "__main__":
    main()
