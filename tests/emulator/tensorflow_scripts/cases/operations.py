"""Operations, optimizers and pipelines of sessions, older names, and what is refused."""

from __future__ import annotations

import runpy
from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import ipu_compiler, loops, scopes
from tensorflow.python.ipu.ipu_infeed_queue import IPUInfeedQueue
from tensorflow.python.ipu.ipu_outfeed_queue import IPUOutfeedQueue
from tensorflow.python.ipu.ops import pipelining_ops
from tensorflow.python.ipu.optimizers import (
    CrossReplicaOptimizer,
    GradientAccumulationOptimizerV2,
)

from .sessions import X, Y, batches, configured, loss_of

tf1 = tf.compat.v1


def descent(rate: float) -> Any:
    return tf1.train.MomentumOptimizer(rate, 0.9)


def stock(batch: int, steps: int, rate: float) -> Any:
    """Return the weights after steps with larger batches, without the lines for the IPU."""
    with tf.Graph().as_default(), tf1.Session() as session:
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(batch).repeat()
        loss = loss_of(*tf1.data.make_one_shot_iterator(data).get_next())
        train = descent(rate).minimize(loss)
        session.run(tf1.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        return session.run(tf1.trainable_variables()[0])


def ran(program: Any, feed: Any, *others: Any) -> List[Any]:
    """Run a program once; return its weights and other tensors."""
    configured()
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(feed.initializer)
        session.run(program)
        return session.run([tf1.trainable_variables()[0], *others])


def piped(count: int, repeats: int, **options: Any) -> Any:
    with tf.Graph().as_default():
        feed, out = IPUInfeedQueue(batches()), IPUOutfeedQueue()

        def first(rate: Any, x: Any, y: Any) -> Any:
            w = tf1.get_variable("w", [4, 1], initializer=tf1.zeros_initializer())
            return rate, tf.matmul(x, w), y

        def second(rate: Any, p: Any, y: Any) -> Any:
            return rate, tf.reduce_mean((p - y) ** 2)

        def optimizer(rate: Any, loss: Any) -> Any:
            return pipelining_ops.OptimizerFunctionOutput(descent(0.02), loss)

        def model() -> Any:
            return pipelining_ops.pipeline(
                [first, second],
                gradient_accumulation_count=count,
                repeat_count=repeats,
                inputs=[0.02],
                infeed_queue=feed,
                outfeed_queue=out,
                optimizer_function=optimizer,
                **options,
            )

        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(model)
        return ran(program, feed, out.dequeue())


def case_a_pipeline_equals_larger_batches() -> None:
    """SUM over k equals batches of k times the size with a k-fold learning rate."""
    w, (rates, losses) = piped(4, 3)
    np.testing.assert_allclose(w, stock(8, 3, 4 * 0.02), rtol=1e-5)
    assert rates.shape == losses.shape == (12,)
    tf1.disable_control_flow_v2()
    try:
        w, losses = piped(4, 3, outfeed_loss=True)
    finally:
        tf1.enable_control_flow_v2()
    np.testing.assert_allclose(w, stock(8, 3, 4 * 0.02), rtol=1e-5)
    assert losses.shape == (12,)


def case_outputs_of_a_pipeline_are_accumulated() -> None:
    _, all_of_them = piped(4, 2, outfeed_loss=True)
    _, sums = piped(4, 2, outfeed_loss=True, accumulate_outfeed=True)
    np.testing.assert_allclose(sums, all_of_them.reshape(2, 4).sum(axis=1), rtol=1e-5)


def case_wrong_pipelines_are_errors() -> None:
    stages = [tf.identity, tf.identity]
    with pytest.raises(ValueError, match="at least two"):
        pipelining_ops.pipeline(stages[:1], 4)
    with pytest.raises(ValueError, match="gradient_accumulation_count is missing"):
        pipelining_ops.pipeline(stages)
    with pytest.raises(ValueError, match="pass an optimizer_function"):
        pipelining_ops.pipeline(stages, 4, outfeed_loss=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="3 micro-batches"):
        pipelining_ops.pipeline(stages, 3)
    with pytest.raises(TypeError, match="must be an optimizer"):
        pipelining_ops.OptimizerFunctionOutput(None, tf.constant(1.0))


def case_accumulating_optimizers_equal_larger_batches() -> None:
    with tf.Graph().as_default():
        feed = IPUInfeedQueue(batches())

        def body(x: Any, y: Any) -> Any:
            optimizer = CrossReplicaOptimizer(descent(0.02))
            return GradientAccumulationOptimizerV2(optimizer, 4).minimize(loss_of(x, y))

        with scopes.ipu_scope("/device:IPU:0"), scopes.ipu_shard(0):
            program = ipu_compiler.compile(lambda: loops.repeat(12, body, [], feed))
        (w,) = ran(program, feed)
    np.testing.assert_allclose(w, stock(8, 3, 4 * 0.02), rtol=1e-5)


def case_operations_equal_numpy() -> None:
    x = np.random.RandomState(1).rand(2, 3, 4).astype(np.float32)
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = ipu.embedding_ops.embedding_lookup(table, [3, 1], serialization_factor=2)
    np.testing.assert_array_equal(rows, table[[3, 1]])
    with pytest.raises(ValueError, match="must divide the rows"):
        ipu.embedding_ops.embedding_lookup(table, [0], serialization_factor=4)
    np.testing.assert_allclose(ipu.nn_ops.swish(x), x / (1 + np.exp(-x)), rtol=1e-5)
    np.testing.assert_array_equal(ipu.cross_replica_ops.cross_replica_sum(x), x)
    for strided in (True, False):
        found = ipu.normalization_ops.normalised_groups(tf.constant(x), 2, -1, 1e-5, strided)
        for channel in range(4):
            group = [0, 2] if strided else [0, 1]
            if channel not in group:
                group = [each + 1 if strided else each + 2 for each in group]
            part = x[:, :, group]
            mean, spread = (f(part, axis=(1, 2), keepdims=True) for f in (np.mean, np.var))
            expected = (x[:, :, [channel]] - mean) / np.sqrt(spread + 1e-5)
            np.testing.assert_allclose(found[:, :, channel], expected[:, :, 0], atol=1e-5)

    @ipu.outlined_function
    def doubled(value: Any) -> Any:
        return 2 * value

    np.testing.assert_array_equal(doubled(x), 2 * x)


TABLE = np.random.RandomState(2).rand(6, 3).astype(np.float32)
IDS = np.array([[0, 5], [5, 5], [2, 1], [3, 0]], np.int32)


def embedded(spec: Any, steps: int) -> List[Any]:
    """Return the weights and the table after steps of a loop, with a host embedding."""
    with tf.Graph().as_default():
        feed = IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(IDS).repeat())
        embedding = ipu.embedding_ops.create_host_embedding(
            "table", TABLE.shape, tf.float32, optimizer_spec=spec, initializer=TABLE
        )
        with scopes.ipu_scope("/device:IPU:0"):
            program = loops.repeat(steps, lambda ids: squared(embedding.lookup(ids)), [], feed)
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            session.run(feed.initializer)
            with embedding.register(session):
                session.run(program)
            (w,) = [each for each in tf1.trainable_variables() if each.op.name == "w"]
            return session.run([w, embedding.get_embedding_tensor()])


def squared(rows: Any) -> Any:
    w = tf1.get_variable("w", [3, 1], initializer=tf1.ones_initializer())
    return tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(rows, w) ** 2))


def stock_embedded(steps: int, is_trained: bool) -> List[Any]:
    with tf.Graph().as_default(), tf1.Session() as session:
        ids = tf1.data.make_one_shot_iterator(
            tf.data.Dataset.from_tensor_slices(IDS).repeat()
        ).get_next()
        table = tf1.get_variable("table", initializer=TABLE, trainable=is_trained)
        train = squared(tf.gather(table, ids))
        session.run(tf1.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        (w,) = [each for each in tf1.trainable_variables() if each.op.name == "w"]
        return session.run([w, table])


def case_host_embeddings_equal_embeddings_of_stock_tensorflow() -> None:
    sgd, accumulated = (
        ipu.embedding_ops.HostEmbeddingOptimizerSpec,
        ipu.embedding_ops.HostEmbeddingSGDGAOptimizerSpec,
    )
    for found, expected in (
        (embedded(sgd(0.1), 6), stock_embedded(6, True)),
        (embedded(None, 6), stock_embedded(6, False)),
        (embedded(accumulated(0.1, 1), 3), stock_embedded(3, True)),
    ):
        for value, right in zip(found, expected):
            np.testing.assert_allclose(value, right, rtol=1e-5)


def case_host_embeddings_accumulate_gradients() -> None:
    """Two lookups with the weights of each: one update with the sum of their gradients."""
    weights = [np.ones((3, 1), np.float32)]
    summed = np.zeros_like(TABLE)
    for ids in IDS[:2]:
        rows = TABLE[ids]
        np.add.at(summed, ids, 2 * (rows @ weights[-1]) @ weights[-1].T)
        weights.append(weights[-1] - 0.1 * 2 * rows.T @ (rows @ weights[-1]))
    spec = ipu.embedding_ops.HostEmbeddingSGDGAOptimizerSpec(0.5, 2)
    w, table = embedded(spec, 2)
    np.testing.assert_allclose(w, weights[-1], rtol=1e-5)
    np.testing.assert_allclose(table, TABLE - 0.5 * summed, rtol=1e-5)


def case_wrong_host_embeddings_are_errors() -> None:
    create = ipu.embedding_ops.create_host_embedding
    with pytest.raises(NotImplementedError, match="in sessions"):
        create("eager", [2, 2], tf.float32)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="TOKEN or ENCODING"):
            create("a", [2, 2], tf.float32, partition_strategy="ROWS")
        with pytest.raises(ValueError, match="optimizer_spec"):
            create("b", [2, 2], tf.float32, optimizer_spec=0.1)
        embedding = create("c", [2, 2], tf.float32)
        with pytest.raises(RuntimeError, match="in programs on the IPU only"):
            embedding.lookup(tf.constant([0]))
        with pytest.raises(ValueError, match="needs a session"):
            embedding.register()
        with scopes.ipu_scope(), tf1.Session() as session:
            rows = embedding.lookup(tf.constant([0, 9]))
            session.run(tf1.global_variables_initializer())
            with pytest.raises(tf.errors.OpError, match="is not registered"):
                session.run(rows)


def case_layers_of_the_addons_are_those_of_keras() -> None:
    from ipu_tensorflow_addons.keras.layers import LSTM, GroupNormalization

    layer = LSTM(3, partials_dtype="float32", options={"availableMemoryProportion": "0.1"})
    assert isinstance(layer, tf.keras.layers.LSTM)
    assert layer(tf.zeros([2, 5, 4])).shape == (2, 3)
    assert GroupNormalization(groups=2)(tf.zeros([2, 3, 4])).shape == (2, 3, 4)


def case_popdist_answers_for_one_process() -> None:
    import popdist
    import popdist.tensorflow
    from tensorflow.python.ipu.distributed.popdist_strategy import PopDistStrategy
    from tensorflow.python.ipu.horovod import ipu_horovod_strategy

    with PopDistStrategy().scope() as strategy:
        assert strategy.num_replicas_in_sync == 1
    assert ipu_horovod_strategy.IPUHorovodStrategy is ipu.horovod.PopDistStrategy

    assert not popdist.isPopdistEnvSet()
    counts = (popdist.getNumInstances(), popdist.getNumTotalReplicas(), popdist.getInstanceIndex())
    assert counts == (1, 1, 0)
    config = popdist.tensorflow.set_ipu_config(ipu.config.IPUConfig(), ipus_per_replica=2)
    assert config.number_of_ipus() == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPDIST_NUM_TOTAL_INSTANCES", "2")
        with pytest.raises(NotImplementedError, match="instead of poprun"):
            runpy.run_path(popdist.__file__)


def case_what_needs_an_executable_is_refused_with_words() -> None:
    from tensorflow.keras.ipu.layers import CaptureActivationGradients
    from tensorflow.python.ipu.ops.all_to_all_op import all_gather

    estimators: List[Any] = []
    if not hasattr(tf1, "estimator"):  # of newer TensorFlow
        estimators += [ipu.ipu_estimator.IPUEstimator]
        estimators += [ipu.ipu_pipeline_estimator.IPUPipelineEstimator]
    for refused in (
        *estimators,
        all_gather,
        CaptureActivationGradients,
        ipu.embedded_runtime.embedded_runtime_start,
        ipu.application_compile_op.experimental_application_compile_op,
        ipu.serving.export_single_step,
        ipu.custom_ops.codelet_expression_op,
    ):
        with pytest.raises(NotImplementedError, match="not emulated"):
            refused()
