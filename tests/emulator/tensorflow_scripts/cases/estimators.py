"""Estimators, which TensorFlow has up to 2.15."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu import ipu_estimator, ipu_run_config
from tensorflow.python.ipu.config import IPUConfig
from tensorflow.python.ipu.distributed import popdist_strategy
from tensorflow.python.ipu.ipu_pipeline_estimator import (
    IPUPipelineEstimator,
    IPUPipelineEstimatorSpec,
)
from tensorflow.python.ipu.ops.pipelining_ops import OptimizerFunctionOutput

from ipu_tensorflow_emulator import process

from .operations import descent, stock
from .sessions import X, Y, batches, loss_of, stock_losses

tf1 = tf.compat.v1
STAGES = 2


def configuration(iterations: int, shards: int = STAGES) -> Any:
    options = IPUConfig()
    options.auto_select_ipus = STAGES
    run = ipu_run_config.IPURunConfig(iterations, ipu_options=options, num_shards=shards)
    return ipu_run_config.RunConfig(ipu_run_config=run)


def first(x: Any, y: Any) -> Any:
    w = tf1.get_variable("w", [4, 1], initializer=tf1.zeros_initializer())
    return tf.matmul(x, w), y


def second(p: Any, y: Any) -> Any:
    return tf.reduce_mean((p - y) ** 2)


def optimizer(loss: Any) -> Any:
    return OptimizerFunctionOutput(descent(0.02), loss)


def piped(iterations: int = 4, shards: int = STAGES, **changes: Any) -> Any:
    """Return an estimator of two stages that updates weights every four micro-batches."""

    def model_fn(mode: Any) -> Any:
        options: Dict[str, Any] = {
            "computational_stages": [first, second],
            "gradient_accumulation_count": 4,
            "optimizer_function": optimizer,
            "eval_metrics_fn": lambda loss: {"loss": loss, "mean": tf1.metrics.mean(loss)},
        }
        return IPUPipelineEstimatorSpec(mode, **{**options, **changes})

    return IPUPipelineEstimator(model_fn, config=configuration(iterations, shards))


def losses_of(estimator: Any) -> List[float]:
    """Return the losses that an estimator has logged."""
    (path,) = tf.io.gfile.glob(f"{estimator.model_dir}/*tfevents*")
    values = [value for event in tf1.train.summary_iterator(path) for value in event.summary.value]
    return [value.simple_value for value in values if value.tag == "loss"]


def case_pipelines_train_as_larger_batches_do() -> None:
    """MEAN over k equals batches of k times the size; SUM has a k-fold rate in addition."""
    estimator = piped(8)
    with pytest.raises(ValueError, match="iterations_per_loop"):
        estimator.train(batches, steps=4)
    estimator.train(batches, steps=24)
    assert estimator.get_variable_value("global_step") == 24
    weights = estimator.get_variable_value("w")
    np.testing.assert_allclose(weights, stock(8, 6, 0.02), rtol=1e-5)
    summed = piped(reduction_method="sum", pipeline_schedule=None).train(batches, steps=12)
    np.testing.assert_allclose(summed.get_variable_value("w"), stock(8, 3, 0.08), rtol=1e-5)
    older = piped(3, gradient_accumulation_count=None, pipeline_depth=4).train(batches, steps=3)
    np.testing.assert_allclose(older.get_variable_value("w"), stock(8, 3, 0.08), rtol=1e-5)


def case_pipelines_log_the_mean_loss_and_evaluate_as_numpy() -> None:
    runs = []

    class Counter(tf1.train.SessionRunHook):  # type: ignore[misc] # TensorFlow has no types
        def after_run(self, context: Any, values: Any) -> None:
            runs.append(1)

    estimator = piped(training_hooks=[Counter()]).train(batches, steps=4)
    assert len(runs) == 1
    np.testing.assert_allclose(losses_of(estimator), [np.mean(Y**2)], rtol=1e-5)
    found = estimator.evaluate(batches, steps=8)
    expected = np.mean((X @ estimator.get_variable_value("w") - Y) ** 2)
    np.testing.assert_allclose([found["loss"], found["mean"]], [expected] * 2, rtol=1e-5)


def case_pipelines_yield_predictions_of_examples() -> None:
    def rows() -> Any:
        return tf.data.Dataset.from_tensor_slices(X).batch(2, drop_remainder=True)

    def doubled(x: Any) -> Any:
        return 2.0 * x

    estimator = piped(computational_stages=[doubled, doubled])
    found = estimator.predict(rows)
    np.testing.assert_array_equal([next(found) for _ in X], 4.0 * X)
    named = piped(computational_stages=[doubled, lambda x: {"a": x, "b": doubled(x)}])
    found = named.predict(rows)
    np.testing.assert_array_equal([next(found)["b"] for _ in X], 4.0 * X)
    with pytest.raises(ValueError, match="exactly one prediction tensor"):
        next(piped(computational_stages=[doubled, lambda x: (x, x)]).predict(rows))


def case_wrong_pipelines_are_refused() -> None:
    with pytest.raises(ValueError, match="needs an `optimizer_function`"):
        piped(optimizer_function=None).train(batches, steps=4)
    with pytest.raises(ValueError, match="needs an `eval_metrics_fn`"):
        piped(eval_metrics_fn=None).evaluate(batches, steps=4)
    with pytest.raises(ValueError, match="gradient_accumulation_count"):
        piped(gradient_accumulation_count=None).train(batches, steps=4)
    with pytest.raises(ValueError, match="accumulate_outfeed"):
        piped(accumulate_outfeed=True).train(batches, steps=4)
    with pytest.raises(ValueError, match="cannot be less than"):
        piped(2).train(batches, steps=2)
    with pytest.raises(ValueError, match="must be divisible by"):
        piped(6).train(batches, steps=6)
    for shards in (1, 4):
        with pytest.raises(ValueError, match=f"requires 2 devices .* is {shards}"):
            piped(shards=shards).train(batches, steps=4)
    with pytest.raises(TypeError, match="must return a dict"):
        piped(eval_metrics_fn=lambda loss: loss).evaluate(batches, steps=4)
    with pytest.raises(KeyError, match="must contain 'loss'"):
        piped(eval_metrics_fn=lambda loss: {}).evaluate(batches, steps=4)
    with pytest.raises(ValueError, match="must return a Dataset"):
        piped().train(lambda: (X, Y), steps=4)
    with pytest.raises(ValueError, match="drop_remainder"):
        piped().train(lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(2), steps=4)

    def with_features(features: Any, labels: Any, mode: Any) -> Any:
        raise AssertionError("the arguments are checked first")

    def another_spec(mode: Any) -> Any:
        return ipu_estimator.IPUEstimatorSpec(mode, loss=tf.constant(0.0), train_op=tf.no_op())

    config = configuration(4)
    with pytest.raises(ValueError, match="must not have the arguments"):
        IPUPipelineEstimator(with_features, config=config).train(batches, steps=4)
    with pytest.raises(TypeError, match="must return an `IPUPipelineEstimatorSpec`"):
        IPUPipelineEstimator(another_spec, config=config).train(batches, steps=4)


def case_estimators_count_steps_and_train_as_stock_ones() -> None:
    def model_fn(features: Any, labels: Any, mode: Any, params: Any) -> Any:
        loss = loss_of(features, labels)
        step = tf1.train.get_global_step() if params.get("counts") else None
        train = tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss, step)
        return tf1.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    options = ipu_run_config.IPURunConfig(iterations_per_loop=2)
    one_process = popdist_strategy.PopDistStrategy()
    config = ipu_run_config.RunConfig(ipu_run_config=options, train_distribute=one_process)
    assert "RunConfig(train_distribute=)" in process.STATE.without_effect
    estimator = ipu_estimator.IPUEstimator(model_fn, config=config)
    with pytest.raises(ValueError, match="iterations_per_loop"):
        estimator.train(batches, steps=3)
    estimator.train(batches, steps=4)
    expected = stock_losses(5)
    assert estimator.get_variable_value("global_step") == 4
    one = lambda: batches().take(2)  # noqa: E731
    assert estimator.evaluate(one, steps=2)["loss"] < expected[0]
    with pytest.raises(ValueError, match="drop_remainder"):
        estimator.train(lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(2), steps=2)
    counting = ipu_estimator.IPUEstimator(model_fn, config=config, params={"counts": True})
    with pytest.raises(ValueError, match="do not pass global_step"):
        counting.train(batches, steps=2)
