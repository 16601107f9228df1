"""Trains two recurrent layers of spiking neurons on two IPUs, each a stage of a pipeline.

two_ipus.py LIBRARY, the path of the compiled lif_op.cpp (docs/tutorial/9-ipu-script.md).
"""

from __future__ import annotations

import argparse

from keras_lif import BATCH, CHANNELS, CLASSES, STEPS, LIFCell, data, print_metrics
from tensorflow import keras
from tensorflow.python import ipu

NEURONS = 16
ACCUMULATED = 4  # micro-batches between two updates; a multiple of the stages


def main() -> None:
    """Train for a few epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()

    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope():
        entering = keras.layers.Input((STEPS, CHANNELS), batch_size=BATCH)
        with ipu.keras.PipelineStage(0):
            first = keras.layers.RNN(LIFCell(NEURONS, options.library), return_sequences=True)(
                entering
            )
        with ipu.keras.PipelineStage(1):
            second = keras.layers.RNN(LIFCell(NEURONS, options.library), return_sequences=True)(
                first
            )
            rates = keras.layers.GlobalAveragePooling1D()(second)
            weights = keras.initializers.GlorotUniform(seed=2)
            classes = keras.layers.Dense(CLASSES, kernel_initializer=weights)(rates)
        model = keras.Model(entering, classes)
        model.set_pipelining_options(
            gradient_accumulation_steps_per_replica=ACCUMULATED,
            pipeline_schedule=ipu.ops.pipelining_ops.PipelineSchedule.Grouped,
            device_mapping=[0, 1],
        )
        model.compile(
            keras.optimizers.Adam(0.02),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            steps_per_execution=2 * ACCUMULATED,
        )
        curves = keras.callbacks.LambdaCallback(on_epoch_end=print_metrics)
        model.fit(data(), epochs=options.epochs, verbose=2, callbacks=[curves])


if __name__ == "__main__":
    main()
