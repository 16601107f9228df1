"""Keras models: every reduction, replicas, schedules of pipelines, older classes."""

from __future__ import annotations

import importlib
from typing import Any, List

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


class Two(keras.Model):  # type: ignore[misc] # TensorFlow has no types
    """The layers of `sequential()`, without stages."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = self.layers_of_reference()

    @staticmethod
    def layers_of_reference() -> Any:
        return [keras.layers.Dense.from_config(each.get_config()) for each in sequential().layers]

    def call(self, x: Any) -> Any:
        return self.second(self.first(x))


class StagesOfCalls(Two):
    """A stage for each call."""

    def call(self, x: Any) -> Any:
        with ipu.keras.PipelineStage(0):
            x = self.first(x)
        with ipu.keras.PipelineStage(1):
            return self.second(x)


class TwoStages(Two):
    """A stage for all calls of a layer, and one for a call."""

    def __init__(self) -> None:
        super().__init__()
        with ipu.keras.PipelineStage(1):
            self.second = self.layers_of_reference()[1]

    def call(self, x: Any) -> Any:
        with ipu.keras.PipelineStage(0):
            x = self.first(x)
        return self.second(x)


def case_stages_of_subclasses_equal_accumulation() -> None:
    with configured(2).scope():
        model = compiled(TwoStages(), 4, 0.05 / 4)
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
        model.fit(dataset(), epochs=2, verbose=0)
        same(model.get_weights(), stock(16))
        assert [each.pipeline_stage for each in model.get_pipeline_stage_assignment()] == [0, 1]
        assert model.predict(X, batch_size=4, verbose=0).shape == (48, 1)
    process.reset()
    with configured(2).scope():
        model = compiled(Two(), 4, 0.05 / 4)
        with pytest.raises(RuntimeError, match="has not been built yet"):
            model.get_pipeline_stage_assignment()
        model.build((4, 6))
        assigned = model.get_pipeline_stage_assignment()
        assert [each.layer for each in assigned] == [model.first, model.second]
        for stage, each in enumerate(assigned):
            each.pipeline_stage = stage
        model.set_pipeline_stage_assignment(assigned)
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        same(model.get_weights(), stock(16))
        with pytest.raises(ValueError, match="another name"):
            model.set_pipelining_options(gradient_accumulation_count=4)


def case_stages_without_accumulation() -> None:
    """Training needs it, but for the schedule that runs the stages in turn."""
    with configured(2).scope():
        for kind in (TwoStages, StagesOfCalls):
            with pytest.raises(ValueError, match=r"set_pipelining_options\(\)"):
                compiled(kind(), 3).fit(dataset(), verbose=0)
        model = compiled(TwoStages(), 3)
        model.set_pipelining_options(
            pipeline_schedule=ipu.pipelining_ops.PipelineSchedule.Sequential
        )
        model.fit(dataset(), epochs=2, verbose=0)
        same(model.get_weights(), stock())
    with pytest.raises(RuntimeError, match="within an IPUStrategy"), ipu.keras.PipelineStage(0):
        pass


def case_calls_of_a_shared_layer_have_stages_of_their_own() -> None:
    with configured(4).scope():
        entering, shared = keras.layers.Input((6,)), keras.layers.Dense(6)
        with ipu.keras.PipelineStage(0):
            first = shared(entering)
        with ipu.keras.PipelineStage(1):
            other = shared(entering)
        with ipu.keras.PipelineStage(0):
            first = keras.layers.Dense(1)(first)
        with ipu.keras.PipelineStage(2):
            leaving = keras.layers.Add()([first, keras.layers.Dense(1)(other)])
        model = keras.Model(entering, leaving)
        assigned = model.get_pipeline_stage_assignment()
        assert sorted(each.pipeline_stage for each in assigned) == [0, 0, 1, 2, 2]
        model.set_pipeline_stage_assignment(assigned)  # the first call is of an earlier stage


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


def stepped(optimizer_of: Any, initial: Any, gradients: Any) -> List[Any]:
    """Return the variables after a step of a program for each list of gradients."""
    with configured().scope() as strategy:
        optimizer = optimizer_of()
        variables = [tf.Variable(each, name=name) for name, each in initial.items()]

        @tf.function(jit_compile=True)
        def step(*by: Any) -> None:
            optimizer.apply_gradients(list(zip(by, variables)))

        for each in gradients:
            strategy.run(step, args=[tf.constant(by) for by in each])
    return [each.numpy() for each in variables]


# The third variable is 0 at first, so that its first ratio is 1.
INITIAL = {
    "dense/kernel": np.array([[0.5, -1.0], [2.0, 0.1]], np.float32),
    "norm/bias": np.array([0.3, 4.0], np.float32),
    "start": np.zeros(3, np.float32),
}
GRADIENTS = [
    [np.cos(step + np.arange(each.size)).reshape(each.shape).astype(np.float32) for each in
     INITIAL.values()]
    for step in range(5)
]  # fmt: skip


def lamb(rate: float, decay: float, clip: float, debiasing: bool, plain: str) -> List[Any]:
    """Return the variables after LAMB as published (You et al., 2020, algorithm 2), in float64.

    plain: a variable that has neither weight decay nor a ratio.
    """
    found = []
    for at, (name, first) in enumerate(INITIAL.items()):
        w, m, v = (np.array(each, np.float64) for each in (first, 0 * first, 0 * first))
        for step, gradients in enumerate(GRADIENTS, 1):
            m = 0.9 * m + 0.1 * gradients[at]
            v = 0.999 * v + 0.001 * gradients[at].astype(np.float64) ** 2
            scales = (1 - 0.9**step, 1 - 0.999**step) if debiasing else (1, 1)
            r = (m / scales[0]) / (np.sqrt(v / scales[1]) + 1e-6)
            ratio = 1.0
            if name != plain:
                r = r + decay * w
                length = min(np.linalg.norm(w), clip)
                ratio = length / np.linalg.norm(r) if length else 1.0
            w = w - rate * ratio * r
        found.append(w)
    return found


def case_lamb_is_that_of_its_paper() -> None:
    from ipu_tensorflow_addons.keras.optimizers import LAMBIpuOptimizer

    for debiasing, clip in ((True, None), (False, 1.5)):
        arguments = {
            "learning_rate": 0.1,
            "weight_decay_rate": 0.05,
            "exclude_from_weight_decay": ["bias"],
            "exclude_from_layer_adaptation": ["^no.*bias$"],
            "debiasing": debiasing,
            "weight_norm_clip": clip,
            "m_dtype": tf.float16,
        }
        found = stepped(lambda given=arguments: LAMBIpuOptimizer(**given), INITIAL, GRADIENTS)
        same(found, lamb(0.1, 0.05, clip or 1e9, debiasing, "norm/bias"))
        assert "LAMBIpuOptimizer(m_dtype=)" in process.STATE.without_effect
        config = LAMBIpuOptimizer(**arguments).get_config()
        assert LAMBIpuOptimizer.from_config(config).get_config() == config
        process.reset()


def case_adam_without_debiasing() -> None:
    from ipu_tensorflow_addons.keras.optimizers import AdamIpuOptimizer

    found = stepped(lambda: AdamIpuOptimizer(0.1, debiasing=False), INITIAL, GRADIENTS[:1])
    share = 1 - np.float32(0.999)  # as TensorFlow computes it
    for after, before, by in zip(found, INITIAL.values(), GRADIENTS[0]):
        same([after], [before - 0.1 * (0.1 * by) / (np.sqrt(share * by**2) + 1e-7)])


def case_optimizers_accumulate_outside_of_models() -> None:
    """The sum of every two gradients; an ALSOptimizer scales no loss here."""
    from tensorflow.keras.ipu import optimizers

    sums = [
        [left + right for left, right in zip(*GRADIENTS[at : at + 2])] for at in (0, 2)
    ]  # fmt: skip
    expected = stepped(lambda: keras.optimizers.SGD(0.1, momentum=0.9), INITIAL, sums)
    process.reset()

    def accumulating() -> Any:
        inner = optimizers.ALSOptimizer(keras.optimizers.SGD(0.1, momentum=0.9))
        assert inner.get_scaled_loss(3.0) == 3.0
        return optimizers.ALSGradientAccumulationOptimizer(inner, num_mini_batches=2)

    same(stepped(accumulating, INITIAL, GRADIENTS), expected)  # the fifth waits for a sixth
    with pytest.raises(ValueError, match="takes an ALSOptimizer"):
        optimizers.ALSGradientAccumulationOptimizer(keras.optimizers.SGD(0.1), 2)
    with pytest.raises(ValueError, match="at least 1"):
        optimizers.GradientAccumulationOptimizer(keras.optimizers.SGD(0.1), 0)


def case_float64_of_data_sets_becomes_float32() -> None:
    with configured().scope():
        model = compiled(sequential(), 6)
        wide = tf.data.Dataset.from_tensor_slices((X.astype(np.float64), Y.astype(np.float64)))
        model.fit(wide.batch(4, drop_remainder=True), epochs=2, verbose=0)
        same(model.get_weights(), stock())


def case_tensors_of_rank_1_get_a_dimension() -> None:
    """The loss compares outputs [4, 4, 4] with labels [4, 1], as in Keras 2.6, and not with [4]."""
    images = np.arange(64, dtype=np.float32).reshape(4, 4, 4) / 64
    labels = np.arange(4, dtype=np.float32)
    with configured().scope():
        model = keras.Sequential([keras.layers.Dense(4, kernel_initializer="identity")])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        found = model.evaluate(tf.data.Dataset.from_tensors((images, labels)), verbose=0)
        same([found], [np.mean((images - labels[:, None]) ** 2)])
        model = keras.Sequential([keras.layers.Embedding(9, 2)])
        numbers = tf.data.Dataset.from_tensor_slices(np.arange(8)).batch(4, drop_remainder=True)
        assert model.predict(numbers).shape == (8, 1, 2)


def case_names_of_keras_2_6() -> None:
    if getattr(keras, "__version__", "2").startswith("3"):
        return  # scripts for the IPU are written for Keras 2
    optimizer_v2 = importlib.import_module("keras.optimizer_v2.gradient_descent")
    expected = stepped(lambda: keras.optimizers.SGD(0.1), INITIAL, GRADIENTS)
    same(stepped(lambda: optimizer_v2.SGD(0.1), INITIAL, GRADIENTS), expected)
    assert importlib.import_module("tensorflow.python.keras.datasets.mnist").load_data
    assert importlib.import_module("tensorflow.python.keras.preprocessing.sequence").pad_sequences
    assert importlib.import_module("keras.losses").losses_utils.ReductionV2.SUM == "sum"
