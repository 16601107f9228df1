"""Trains a Keras layer of spiking neurons whose custom op for the IPU runs all steps at once.

lif_layer.py LIBRARY, the path of the compiled lif_sequence_op.cpp (docs/tutorial/9-ipu-script.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tensorflow as tf
from keras_lif import BATCH, CHANNELS, CLASSES, STEPS, data, print_metrics
from tensorflow import keras
from tensorflow.python import ipu

NEURONS = 24
DECAY = "0.8"


class LIFLayer(keras.layers.Layer):
    """A dense layer whose neurons spike: from [batch, steps, channels] to [batch, steps, units]."""

    def __init__(self, units: int, library: str) -> None:
        """Name the compiled op."""
        super().__init__()
        self.units, self.library = units, library

    def build(self, shape):
        """Create the weights."""
        self.kernel = self.add_weight(
            name="kernel",
            shape=(shape[-1], self.units),
            initializer=keras.initializers.RandomUniform(0.0, 2.0, seed=1),
        )

    def call(self, inputs):
        """Return the spikes."""
        currents = tf.transpose(tf.matmul(inputs, self.kernel), [1, 0, 2])
        spikes, _ = ipu.custom_ops.precompiled_user_op(
            [currents],
            self.library,
            str(Path(__file__).with_name("lif_sequence_codelets.cpp")),
            outs={
                "output_types": [tf.float32, tf.float32],
                "output_shapes": [currents.shape, currents.shape],
            },
            inputs_with_gradients=[0],
            attributes=DECAY,
            gradient_attributes=DECAY,
        )
        return tf.transpose(spikes, [1, 0, 2])


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
        hidden = LIFLayer(NEURONS, options.library)(entering)
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
