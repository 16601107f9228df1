"""Keras models in the scope of an IPUStrategy: fit, evaluate, predict, accumulation, pipelines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, Optional

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu

from ipu_tensorflow_emulator import process

from .strategy import configured, op

X = np.random.RandomState(0).rand(48, 6).astype(np.float32)
Y = (X.sum(axis=1, keepdims=True) - 3).astype(np.float32)


def sequential() -> Any:
    initial = keras.initializers.RandomUniform(-0.5, 0.5, seed=3)
    return keras.Sequential(
        [
            keras.layers.Dense(5, activation="tanh", kernel_initializer=initial, input_shape=(6,)),
            keras.layers.Dense(1, kernel_initializer=initial),
        ]
    )


def dataset(batch: int = 4) -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(batch, drop_remainder=True)


def compiled(model: Any, steps: Optional[int] = None, rate: float = 0.05) -> Any:
    optimizer = keras.optimizers.SGD(rate, momentum=0.9)
    model.compile(optimizer, "mse", metrics=["mae"], steps_per_execution=steps)
    return model


@lru_cache(maxsize=None)
def stock(batch: int = 4, rate: float = 0.05, epochs: int = 2) -> List[Any]:
    """Return the weights of the same training without the lines for the IPU."""
    outer, process.STATE.strategy = process.STATE.strategy, None  # callers are in its scope
    try:
        model = sequential()
        model.compile(keras.optimizers.SGD(rate, momentum=0.9), "mse")
        model.fit(dataset(batch), epochs=epochs, verbose=0)
        return model.get_weights()
    finally:
        process.STATE.strategy = outer


def same(found: List[Any], expected: List[Any], rtol: float = 1e-5) -> None:
    for each, other in zip(found, expected):
        np.testing.assert_allclose(each, other, rtol=rtol, atol=1e-6)


def case_fit_evaluate_and_predict_equal_stock_keras() -> None:
    expected, reference = stock(), sequential()
    reference.set_weights(expected)
    reference.compile(loss="mse")
    with configured().scope():
        model = compiled(sequential(), 6)
        ends: List[int] = []
        callback = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: ends.append(batch)
        )
        history = model.fit(dataset(), epochs=2, verbose=0, callbacks=[callback])
        same(model.get_weights(), expected)
        assert len(history.history["loss"]) == 2
        assert [end % 12 for end in ends] == [5, 11, 5, 11]  # after six steps
        loss = model.evaluate(dataset(), verbose=0)[0]
        found = model.predict(X, batch_size=4, verbose=0)
    np.testing.assert_allclose(loss, reference.evaluate(dataset(), verbose=0), rtol=1e-5)
    np.testing.assert_allclose(found, reference.predict(X, verbose=0), rtol=1e-5)
    fit, evaluate, predict = process.STATE.programs
    assert (fit.runs, evaluate.runs, predict.runs) == (4, 2, 2)
    assert fit.host_ops["MatMul"] >= 4
    assert predict.host_ops["MatMul"] == 2


def case_accumulation_equals_larger_batches() -> None:
    """MEAN over k equals batches of k times the size."""
    with configured().scope():
        model = compiled(sequential(), 12)
        model.set_gradient_accumulation_options(
            gradient_accumulation_steps_per_replica=4,
            gradient_accumulation_reduction_method="mean",
            offload_weight_update_variables=False,
        )
        model.fit(dataset(), epochs=2, verbose=0)
        same(model.get_weights(), stock(16))
        assert int(model.optimizer.iterations) == 6


def case_stages_of_functional_models() -> None:
    with configured(2).scope():
        entering = keras.layers.Input((6,))
        with ipu.keras.PipelineStage(0):
            hidden = keras.layers.Dense(5, name="first")(entering)
        with tf.keras.ipu.PipelineStage(1):
            leaving = keras.layers.Dense(1, name="second")(hidden)
        model = compiled(keras.Model(entering, leaving), 4)
        assigned = model.get_pipeline_stage_assignment()
        assert [(each.layer.name, each.pipeline_stage) for each in assigned] == [
            ("first", 0),
            ("second", 1),
        ]
        with pytest.raises(ValueError, match="set_pipelining_options"):
            model.fit(dataset(), verbose=0)
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=3)
        with pytest.raises(RuntimeError, match="the second a multiple"):
            model.fit(dataset(), verbose=0)
        compiled(model, 3)
        with pytest.raises(tf.errors.FailedPreconditionError, match="the 2 stages"):
            model.fit(dataset(), verbose=0)
        for each, stage in zip(assigned, (1, 0)):
            each.pipeline_stage = stage
        with pytest.raises(ValueError, match="reads first of stage 1"):
            model.set_pipeline_stage_assignment(assigned)
        model.reset_pipeline_stage_assignment()
        assert model.get_pipeline_stage_assignment()[0].pipeline_stage is None


def case_too_few_ipus_for_the_stages() -> None:
    with configured(1).scope():
        model = compiled(sequential(), 4)
        model.set_pipeline_stage_assignment([0, 1])
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
        with pytest.raises(ValueError, match="needs 2 IPUs"):
            model.fit(dataset(), verbose=0)
        with pytest.raises(ValueError, match="one for each"):
            model.set_pipeline_stage_assignment([0])
        with pytest.raises(ValueError, match="must not decrease"):
            model.set_pipeline_stage_assignment([1, 0])


def case_data_that_ipus_cannot_have() -> None:
    with configured().scope():
        model = compiled(sequential(), 5)
        with pytest.raises(ValueError, match="partial batch"):
            model.fit(X, Y, batch_size=5, verbose=0)
        with pytest.raises(ValueError, match="must be a divisor"):
            model.fit(dataset(), verbose=0)
        with pytest.raises(ValueError, match="drop_remainder=True"):
            model.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4), verbose=0)
        with pytest.raises(ValueError, match="from_generator"):
            model.fit((pair for pair in [(X, Y)]), verbose=0)
        with pytest.raises(ValueError, match=r"add repeat\(\)"):
            model.fit(dataset(), steps_per_epoch=20, verbose=0)
        with pytest.raises(ValueError, match="pass steps_per_epoch"):
            model.fit(dataset().repeat(), verbose=0)
        model.fit(dataset().repeat(), steps_per_epoch=10, verbose=0)
        model.fit(dataset().take(3), verbose=0)  # steps_per_execution is clamped


def case_overridden_steps_are_refused() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    words = "enable_keras_extensions=False"
    with configured().scope(), pytest.raises(RuntimeError, match=words):
        compiled(Own()).fit(dataset(), verbose=0)
    with ipu.ipu_strategy.IPUStrategy(enable_keras_extensions=False).scope():
        compiled(Own()).fit(dataset(), verbose=0)


def case_eager_models_are_refused() -> None:
    with configured().scope():
        model = sequential()
        model.compile("sgd", "mse", run_eagerly=True)
        with pytest.raises(RuntimeError, match="run_eagerly=False"):
            model.fit(dataset(), verbose=0)


def case_a_custom_op_in_a_layer_trains() -> None:
    """y = h + 2 h through the op equals a layer that multiplies by 3."""

    class Triple(keras.layers.Layer):
        def __init__(self, by_op: bool) -> None:
            super().__init__()
            self.by_op = by_op

        def call(self, x: Any) -> Any:
            return op("Sum", [x, x], x.shape, separate_gradients=True)[0] if self.by_op else 3.0 * x

    def model(by_op: bool) -> Any:
        initial = keras.initializers.RandomUniform(-0.5, 0.5, seed=3)
        entering = keras.layers.Input((6,), batch_size=4)
        hidden = Triple(by_op)(keras.layers.Dense(5, kernel_initializer=initial)(entering))
        return keras.Model(entering, keras.layers.Dense(1, kernel_initializer=initial)(hidden))

    reference = model(False)
    reference.compile(keras.optimizers.SGD(0.02), "mse")
    reference.fit(dataset(), epochs=1, verbose=0)
    with configured().scope():
        found = model(True)
        found.compile(keras.optimizers.SGD(0.02), "mse", steps_per_execution=4)
        found.fit(dataset(), epochs=1, verbose=0)
        same(found.get_weights(), reference.get_weights())
        (usage,) = process.device().usage()
        assert usage.calls == {"forward": 12, "backward": 12}


def case_models_outside_of_a_scope_are_stock_keras() -> None:
    model = sequential()
    model.compile("sgd", "mse", steps_per_execution=5)
    model.fit(X, Y, batch_size=5, verbose=0)
    assert process.STATE.programs == []


def case_serving_is_refused_with_words() -> None:
    with pytest.raises(NotImplementedError, match="Graphcore's TensorFlow"):
        sequential().export_for_ipu_serving("nowhere")
