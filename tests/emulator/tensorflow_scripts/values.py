"""Trains a small model of each kind of script, and stores losses and weights.

values.py RESULT: an .npz file with an array for each name `case/value`. Data and first weights are
NumPy's, so that every TensorFlow begins with the same. Environment: CUSTOM_OPS and LIF_OP are
compiled libraries, EXAMPLES is the folder of the second one's codelets and its Keras layer.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, Sequence

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu
from tensorflow.python.ipu import ipu_compiler, loops, scopes
from tensorflow.python.ipu.ipu_infeed_queue import IPUInfeedQueue
from tensorflow.python.ipu.ipu_outfeed_queue import IPUOutfeedQueue

from ipu_tensorflow_emulator import process

tf1 = tf.compat.v1
RANDOM = np.random.RandomState(0)
X = RANDOM.rand(48, 6).astype(np.float32)
Y = np.sin(X.sum(axis=1, keepdims=True)).astype(np.float32)
W = RANDOM.uniform(-0.5, 0.5, (6, 1)).astype(np.float32)
BATCH = 4
STEPS = 12  # of an epoch
Values = Dict[str, Any]


def configured(ipus: int = 1) -> Any:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = ipus
    config.configure_ipu_system()
    return ipu.ipu_strategy.IPUStrategy()


def dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH, drop_remainder=True)


def numbered(weights: Sequence[Any]) -> Values:
    return {f"weights {number}": np.asarray(each) for number, each in enumerate(weights)}


def dense() -> Any:
    """Return a model with weights of NumPy."""
    layers = [keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.layers.Input((6,)), *layers])
    random = np.random.RandomState(1)
    model.set_weights([random.uniform(-0.5, 0.5, each.shape) for each in model.get_weights()])
    return model


def fitted(model: Any, optimizer: Any) -> Values:
    model.compile(optimizer, "mse", steps_per_execution=STEPS)
    history = model.fit(dataset(), epochs=3, verbose=0)
    return {"loss": history.history["loss"], **numbered(model.get_weights())}


def a_fit_evaluate_and_predict() -> Values:
    with configured().scope():
        model = dense()
        values = fitted(model, keras.optimizers.SGD(0.05, momentum=0.9))
        values["evaluated"] = model.evaluate(dataset(), verbose=0)
        values["predicted"] = model.predict(X, batch_size=BATCH, verbose=0)
    return values


def a_fit_with_adam() -> Values:
    with configured().scope():
        return fitted(dense(), keras.optimizers.Adam(0.01))


def a_fit_with_lamb() -> Values:
    from ipu_tensorflow_addons.keras.optimizers import LAMBIpuOptimizer

    with configured().scope():
        return fitted(dense(), LAMBIpuOptimizer(0.01, weight_decay_rate=0.01))


def a_fit_of_a_custom_op_in_an_rnn() -> Values:
    sys.path.insert(0, os.environ["EXAMPLES"])
    import keras_lif

    with configured().scope():
        entering = keras.layers.Input((keras_lif.STEPS, keras_lif.CHANNELS), batch_size=BATCH)
        cell = keras_lif.LIFCell(keras_lif.NEURONS, os.environ["LIF_OP"])
        hidden = keras.layers.RNN(cell, return_sequences=True)(entering)
        rates = keras.layers.GlobalAveragePooling1D()(hidden)
        model = keras.Model(entering, keras.layers.Dense(keras_lif.CLASSES)(rates))
        random, shapes = np.random.RandomState(1), [each.shape for each in model.get_weights()]
        model.set_weights([random.uniform(0.0, 2.0, shape) for shape in shapes])
        model.compile(
            keras.optimizers.SGD(0.1, momentum=0.9),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            steps_per_execution=8,
        )
        history = model.fit(keras_lif.data(), epochs=2, verbose=0)
        assert process.device().usage()[0].calls["backward"] > 0
    return {"loss": history.history["loss"], **numbered(model.get_weights())}


def b_pipeline_of_keras() -> Values:
    with configured(2).scope():
        model = dense()
        model.set_pipeline_stage_assignment([0, 1])
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
        return fitted(model, keras.optimizers.SGD(0.02, momentum=0.9))


class Staged(keras.Model):  # type: ignore[misc] # TensorFlow has no types
    """The layers of `dense()`, whose calls have stages."""

    def __init__(self, layers: Any) -> None:
        super().__init__()
        self.first, self.second = layers

    def call(self, x: Any) -> Any:
        with ipu.keras.PipelineStage(0):
            x = self.first(x)
        with ipu.keras.PipelineStage(1):
            return self.second(x)


def b_pipeline_of_a_subclass() -> Values:
    with configured(2).scope():
        model = Staged(dense().layers)
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
        return fitted(model, keras.optimizers.SGD(0.02, momentum=0.9))


def c_queues_and_a_loop() -> Values:
    return looped_on_device(lambda: keras.optimizers.SGD(0.05, momentum=0.9))


def c_accumulation_in_a_loop() -> Values:
    from tensorflow.keras.ipu.optimizers import (
        ALSGradientAccumulationOptimizer,
        ALSOptimizer,
    )

    return looped_on_device(
        lambda: ALSGradientAccumulationOptimizer(ALSOptimizer(keras.optimizers.Adam(0.05)), 4)
    )


def looped_on_device(optimizer_of: Callable[[], Any]) -> Values:
    strategy, out = configured(), IPUOutfeedQueue()
    with strategy.scope():
        optimizer, w = optimizer_of(), tf.Variable(W)

        @tf.function(experimental_compile=True)
        def steps(iterator: Any) -> None:
            for _ in tf.range(STEPS):
                x, y = next(iterator)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])
                out.enqueue(loss)

        strategy.run(steps, args=(iter(IPUInfeedQueue(dataset().repeat())),))
    return {"loss": out.dequeue().numpy(), **numbered([w])}


def c_custom_op_and_its_gradient() -> Values:
    strategy, losses = configured(), []
    with strategy.scope():
        optimizer, w = keras.optimizers.SGD(0.05), tf.Variable(4 * W)

        @tf.function(jit_compile=True)
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                current = tf.matmul(x, w)
                membrane, total = tf.zeros_like(current), 0.0
                for _ in range(5):
                    membrane, spikes = ipu.custom_ops.precompiled_user_op(
                        [membrane, current],
                        os.environ["LIF_OP"],
                        os.path.join(os.environ["EXAMPLES"], "lif_codelets.cpp"),
                        outs={
                            "output_types": [tf.float32] * 2,
                            "output_shapes": [current.shape] * 2,
                        },
                        attributes="0.8",
                        gradient_attributes="0.8",
                    )
                    total += spikes + membrane
                loss = tf.reduce_mean((total - 2.0) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        for at in range(0, len(X), BATCH):
            losses.append(float(strategy.run(step, args=(X[at : at + BATCH],))))
    return {"loss": losses, **numbered([w])}


def trained(x: Any, y: Any) -> Any:
    w = tf1.get_variable("w", initializer=W)
    loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
    return loss, tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)


def d_session_with_placeholders() -> Values:
    configured()
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [BATCH, 6])
        y = tf1.placeholder(tf.float32, [BATCH, 1])
        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(trained, inputs=[x, y])
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            parts = [slice(at, at + BATCH) for at in range(0, len(X), BATCH)]
            losses = [session.run(program, {x: X[part], y: Y[part]})[0] for part in parts]
            return {"loss": losses, **numbered(session.run(tf1.trainable_variables()))}


def looped(body: Callable[..., Any]) -> Values:
    """Return losses and weights of a loop of a session; `body` returns loss and operation."""
    configured()
    with tf.Graph().as_default():
        feed, out = IPUInfeedQueue(dataset().repeat()), IPUOutfeedQueue()

        def once(x: Any, y: Any) -> List[Any]:
            loss, train = body(x, y)
            return [train, out.enqueue(loss)]

        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(lambda: loops.repeat(STEPS, once, [], feed), [])
        dequeued = out.dequeue()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            session.run(feed.initializer)
            session.run(program)
            loss, weights = session.run([dequeued, tf1.trainable_variables()])
            return {"loss": loss, **numbered(weights)}


def e_session_with_a_loop() -> Values:
    return looped(trained)


def e_session_with_a_custom_op() -> Values:
    def body(x: Any, y: Any) -> Any:
        w = tf1.get_variable("w", initializer=W)
        p = tf.matmul(x, w)
        (tripled,) = ipu.custom_ops.precompiled_user_op(
            [p, p],
            os.environ["CUSTOM_OPS"],
            outs={"output_types": [tf.float32], "output_shapes": [p.shape]},
            op_name="Sum",
            separate_gradients=True,
        )
        loss = tf.reduce_mean((tripled - y) ** 2)
        return loss, tf1.train.MomentumOptimizer(0.005, 0.9).minimize(loss)

    return looped(body)


def e_session_with_an_lstm() -> Values:
    from ipu_tensorflow_addons.layers import PopnnLSTM

    def body(x: Any, y: Any) -> Any:
        random = np.random.RandomState(1).uniform(-0.5, 0.5, (5, 12)).astype(np.float32)
        initial = tf1.constant_initializer(random)
        sequence = tf.transpose(tf.reshape(x, [BATCH, 3, 2]), [1, 0, 2])
        outputs, _ = PopnnLSTM(3, weights_initializer=initial)(sequence)
        loss = tf.reduce_mean((tf.reduce_sum(outputs[-1], 1, keepdims=True) - y) ** 2)
        return loss, tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

    return looped(body)


CASES = (
    a_fit_evaluate_and_predict,
    a_fit_with_adam,
    a_fit_with_lamb,
    a_fit_of_a_custom_op_in_an_rnn,
    b_pipeline_of_keras,
    b_pipeline_of_a_subclass,
    c_queues_and_a_loop,
    c_accumulation_in_a_loop,
    c_custom_op_and_its_gradient,
    d_session_with_placeholders,
    e_session_with_a_loop,
    e_session_with_a_custom_op,
    e_session_with_an_lstm,
)


def main() -> None:
    found: Values = {}
    for case in CASES:
        process.reset()
        found.update({f"{case.__name__}/{name}": value for name, value in case().items()})
    np.savez(sys.argv[1], **found)


if __name__ == "__main__":
    main()
