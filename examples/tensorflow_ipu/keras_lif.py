"""Trains a recurrent Keras layer of spiking neurons with a custom op for the IPU as its step.

Compile the op first, against the SDK or against the emulator (docs/tutorial/9-ipu-script.md):
keras_lif.py LIBRARY, the path of the compiled op.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu

BATCH, STEPS, CHANNELS, NEURONS, CLASSES = 4, 10, 6, 24, 2
DECAY = "0.8"


class LIFCell(keras.layers.Layer):
    """One time step; the state is the membrane."""

    def __init__(self, units: int, library: str) -> None:
        """Name the compiled op."""
        super().__init__()
        self.units, self.library = units, library
        self.state_size = self.output_size = units

    def build(self, shape):
        """Create the weights."""
        self.kernel = self.add_weight(
            name="kernel",
            shape=(shape[-1], self.units),
            initializer=keras.initializers.RandomUniform(0.0, 2.0, seed=1),
        )

    def call(self, inputs, states):
        """Return spikes and the next membrane."""
        current = tf.matmul(inputs, self.kernel)
        membrane, spikes = ipu.custom_ops.precompiled_user_op(
            [states[0], current],
            self.library,
            str(Path(__file__).with_name("lif_codelets.cpp")),
            outs={
                "output_types": [tf.float32, tf.float32],
                "output_shapes": [current.shape, current.shape],
            },
            inputs_with_gradients=[0, 1],
            attributes=DECAY,
            gradient_attributes=DECAY,
        )
        return spikes, [membrane]


def data() -> tf.data.Dataset:
    """Spikes of two classes, which use other channels."""
    random = np.random.RandomState(0)
    labels = np.arange(32) % CLASSES
    rates = np.where((np.arange(CHANNELS) < CHANNELS // 2) == labels[:, None, None], 0.6, 0.1)
    spikes = (random.rand(32, STEPS, CHANNELS) < rates).astype(np.float32)
    pairs = tf.data.Dataset.from_tensor_slices((spikes, labels.astype(np.int32)))
    return pairs.batch(BATCH, drop_remainder=True)


def print_metrics(epoch, logs):
    """Print a line that becomes points of the curves where the script runs as a job."""
    values = {name: float(value) for name, value in logs.items()}
    metrics = json.dumps({"epoch": epoch + 1, **values})
    sys.stdout.write(f"ipulse-metrics {metrics}\n")


def main() -> None:
    """Train for a few epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()

    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope():
        entering = keras.layers.Input((STEPS, CHANNELS), batch_size=BATCH)
        hidden = keras.layers.RNN(LIFCell(NEURONS, options.library), return_sequences=True)(
            entering
        )
        rates = keras.layers.GlobalAveragePooling1D()(hidden)
        weights = keras.initializers.GlorotUniform(seed=2)
        model = keras.Model(
            entering, keras.layers.Dense(CLASSES, kernel_initializer=weights)(rates)
        )
        model.compile(
            keras.optimizers.Adam(0.02),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            steps_per_execution=8,
        )
        curves = keras.callbacks.LambdaCallback(on_epoch_end=print_metrics)
        model.fit(data(), epochs=options.epochs, verbose=2, callbacks=[curves])


if __name__ == "__main__":
    main()
