"""Keras models: every reduction, replicas, schedules of pipelines, older classes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu

from ipu_tensorflow_emulator import process

from .keras_models import X, Y, compiled, dataset, same, sequential, stock
from .strategy import configured


def case_every_reduction_of_gradients() -> None:
    """RUNNING_MEAN equals MEAN; SUM equals it with a k-fold learning rate."""
    for method, rate in (("RUNNING_MEAN", 0.05), (None, 0.05 / 4)):
        with configured().scope():
            model = compiled(sequential(), 12, rate)
            model.set_gradient_accumulation_options(
                gradient_accumulation_steps_per_replica=4,
                gradient_accumulation_reduction_method=method,
                offload_weight_update_variables=False,
            )
            model.fit(dataset(), epochs=2, verbose=0)
            same(model.get_weights(), stock(16))
            assert int(model.optimizer.iterations) == 6
        process.reset()


def case_arrays_and_validation_data() -> None:
    with configured().scope():
        model = compiled(sequential(), 3)
        history = model.fit(
            X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0, validation_data=(X[:8], Y[:8]),
            validation_batch_size=4,
        )  # fmt: skip
        same(model.get_weights(), stock())
        assert len(history.history["val_loss"]) == 2


def case_replicas_equal_accumulation_by_sum() -> None:
    with configured(2).scope():
        model = compiled(sequential(), 3, 0.05 / 2)
        model.fit(dataset(), epochs=2, verbose=0)
        same(model.get_weights(), stock(8))


def case_pipelines_equal_accumulation() -> None:
    schedules = ipu.pipelining_ops.PipelineSchedule
    for schedule in (schedules.Grouped, schedules.Interleaved, schedules.Sequential):
        with configured(2).scope():
            model = compiled(sequential(), 4, 0.05 / 4)
            model.set_pipeline_stage_assignment([0, 1])
            model.set_pipelining_options(
                gradient_accumulation_steps_per_replica=4, pipeline_schedule=schedule
            )
            model.fit(dataset(), epochs=2, verbose=0)
            same(model.get_weights(), stock(16))
        process.reset()


def case_classes_of_older_sdks_equal_accumulation_by_sum() -> None:
    """They run an epoch at a time, so that no steps_per_execution is needed."""
    older, reference = ipu.keras, sequential()
    with configured().scope():
        model = older.Sequential(sequential().layers, gradient_accumulation_count=4)
        compiled(model, rate=0.05 / 4).fit(dataset(), epochs=2, verbose=0)
        same(model.get_weights(), stock(16))
    with configured(2).scope():
        copies = [keras.layers.Dense.from_config(each.get_config()) for each in reference.layers]
        entering = keras.layers.Input((6,))
        with older.PipelineStage(0):
            hidden = copies[0](entering)
        with older.PipelineStage(1):
            leaving = copies[1](hidden)
        first, second = sequential().layers
        for model in (
            older.SequentialPipelineModel([[first], [second]], gradient_accumulation_count=4),
            older.PipelineModel(entering, leaving, gradient_accumulation_count=4),
        ):
            model.build((4, 6))
            model.set_weights(reference.get_weights())
            compiled(model, rate=0.05 / 4).fit(dataset(), epochs=2, verbose=0)
            same(model.get_weights(), stock(16))
        with pytest.raises(ValueError, match="two stages or more"):
            older.PipelineSequential([[first]])


def case_optimizers_of_the_addons_are_those_of_keras() -> None:
    from ipu_tensorflow_addons.keras import optimizers

    found = []
    for optimizer in (
        optimizers.AdamIpuOptimizer(0.01, m_dtype=tf.float32),
        keras.optimizers.Adam(0.01),
    ):
        with configured().scope():
            model = sequential()
            model.compile(optimizer, "mse", steps_per_execution=6)
            model.fit(dataset(), verbose=0)
            found.append(model.get_weights())
    same(*found)
    with pytest.raises(NotImplementedError, match="Use AdamIpuOptimizer"):
        optimizers.LAMBIpuOptimizer  # noqa: B018 (an attribute that raises)


def case_float64_of_data_sets_becomes_float32() -> None:
    with configured().scope():
        model = compiled(sequential(), 6)
        wide = tf.data.Dataset.from_tensor_slices((X.astype(np.float64), Y.astype(np.float64)))
        model.fit(wide.batch(4, drop_remainder=True), epochs=2, verbose=0)
        same(model.get_weights(), stock())
