"""Sessions of TensorFlow 1: compile, loops, queues, configuration of older SDKs."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import ipu_compiler, loops, scopes, utils
from tensorflow.python.ipu.ipu_infeed_queue import IPUInfeedQueue
from tensorflow.python.ipu.ipu_outfeed_queue import IPUOutfeedMode, IPUOutfeedQueue

from ipu_tensorflow_emulator import outfeed_metrics

from .strategy import op

tf1 = tf.compat.v1
X = np.random.RandomState(0).rand(8, 4).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)


def batches() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(2, drop_remainder=True).repeat()


def configured() -> None:
    config = utils.create_ipu_config(profiling=True, use_poplar_text_report=True)
    config = utils.set_ipu_model_options(config, compile_ipu_code=False)
    utils.configure_ipu_system(utils.auto_select_ipus(config, 1))
    utils.move_variable_initialization_to_cpu()


def loss_of(x: Any, y: Any) -> Any:
    w = tf1.get_variable("w", [4, 1], initializer=tf1.zeros_initializer())
    return tf.reduce_mean((tf.matmul(x, w) - y) ** 2)


def stock_losses(steps: int) -> List[float]:
    with tf.Graph().as_default(), tf1.Session() as session:
        x, y = tf1.data.make_one_shot_iterator(batches()).get_next()
        loss = loss_of(x, y)
        train = tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        session.run(tf1.global_variables_initializer())
        return [session.run([loss, train])[0] for _ in range(steps)]


def looped(mode: Any) -> Any:
    """Return losses of two runs of a loop of five steps, and the carried values."""
    with tf.Graph().as_default():
        feed, out = IPUInfeedQueue(batches(), feed_name="in"), IPUOutfeedQueue("out", mode)

        def body(before: Any, x: Any, y: Any) -> Any:
            loss = loss_of(x, y)
            train = tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
            return loss, train, out.enqueue({"loss": loss})

        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(lambda: loops.repeat(5, body, [0.0], feed), [])
        dequeued = out.dequeue()
        configured()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            session.run(feed.initializer)
            found = []
            for _ in range(2):
                (carried,) = session.run(program)
                found.append(session.run(dequeued)["loss"])
                assert carried == np.ravel(found[-1])[-1]
            return found


def case_a_loop_with_queues_equals_stock_tensorflow() -> None:
    expected = stock_losses(10)
    np.testing.assert_allclose(np.concatenate(looped(IPUOutfeedMode.ALL)), expected, rtol=1e-5)
    np.testing.assert_allclose(looped(IPUOutfeedMode.LAST), [expected[4], expected[9]], rtol=1e-5)


def case_losses_are_those_of_numpy_with_every_tensorflow() -> None:
    w, velocity, expected = np.zeros((4, 1)), np.zeros((4, 1)), []
    for at in range(0, 20, 2):
        x, y = (each[at % 8 : at % 8 + 2].astype(np.float64) for each in (X, Y))
        expected.append(np.mean((x @ w - y) ** 2))
        velocity = 0.9 * velocity + x.T @ (x @ w - y)  # of a mean over two rows
        w = w - 0.05 * velocity
    np.testing.assert_allclose(np.concatenate(looped(IPUOutfeedMode.ALL)), expected, rtol=1e-5)


def case_elements_of_outfeeds_become_metrics() -> None:
    """A dict keeps its keys, tensors without one take the other names; a mean of an array."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("IPU_TENSORFLOW_EMULATOR_METRICS", "loss,total,absent")
        (first, second) = looped(IPUOutfeedMode.ALL)
        with tf.Graph().as_default():
            out = IPUOutfeedQueue(outfeed_mode=IPUOutfeedMode.LAST)

            def body(n: Any) -> Any:
                return n + 1, out.enqueue((tf.stack([n, n + 2]), n))

            with scopes.ipu_scope():
                program = loops.repeat(300, body, [1])
            with tf1.Session() as session:
                session.run(program)
                session.run(out.dequeue())
        assert outfeed_metrics.missing() == []
    lines = [line.partition(" ")[2] for line in printed.getvalue().splitlines()]
    *losses, last = map(json.loads, lines)
    assert [line["step"] for line in losses] == list(range(1, 11))
    np.testing.assert_allclose([line["loss"] for line in losses], np.concatenate([first, second]))
    assert last == {"step": 300, "total": 301.0, "absent": 300.0}


def case_many_elements_become_few_lines() -> None:
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("IPU_TENSORFLOW_EMULATOR_METRICS", "n,other")
        with tf.Graph().as_default(), scopes.ipu_scope(), tf1.Session() as session:
            out = IPUOutfeedQueue()
            session.run(loops.repeat(1050, lambda n: (n + 1, out.enqueue({"n": n})), [1]))
            session.run(out.dequeue())
        assert outfeed_metrics.missing() == ["other"]
    lines = [json.loads(line.partition(" ")[2]) for line in printed.getvalue().splitlines()]
    assert 50 <= len(lines) <= 100
    assert lines[-1] == {"step": 1050, "n": 1050.0}


def case_control_flow_of_tensorflow_1_gives_the_same() -> None:
    tf1.disable_control_flow_v2()
    try:
        found = np.concatenate(looped(IPUOutfeedMode.ALL))
    finally:
        tf1.enable_control_flow_v2()
    np.testing.assert_allclose(found, stock_losses(10), rtol=1e-5)


def case_one_step_a_run_with_placeholders() -> None:
    with tf.Graph().as_default():
        x, y = tf1.placeholder(tf.float32, [2, 4]), tf1.placeholder(tf.float32, [2, 1])

        def step(x: Any, y: Any) -> Any:
            loss = loss_of(x, y)
            return loss, tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(step, inputs=[x, y])
        configured()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            parts = [slice(at % 8, at % 8 + 2) for at in range(0, 20, 2)]
            found = [session.run(program, {x: X[part], y: Y[part]})[0] for part in parts]
    np.testing.assert_allclose(found, stock_losses(10), rtol=1e-5)


def case_an_explicit_device_is_placed_on_the_host() -> None:
    with tf.Graph().as_default():
        with tf.device("/device:IPU:0"):
            total = tf.constant(1.0) + 2.0
        with tf1.Session() as session:
            assert session.run(total) == 3.0


def case_what_compile_returns() -> None:
    with tf.Graph().as_default(), scopes.ipu_scope("/device:IPU:0"):
        single = ipu_compiler.compile(lambda: tf.constant(1.0))
        assert isinstance(single, tuple)
        assert len(single) == 1
        listed = ipu_compiler.compile(lambda: [tf.constant(1.0), tf.constant(2.0)])
        assert isinstance(listed, list)
        assert isinstance(ipu_compiler.compile(lambda: None), tf.Operation)
        assert isinstance(ipu_compiler.compile(tf.no_op), tf.Operation)
        with pytest.raises(ValueError, match="follows an operation"):
            ipu_compiler.compile(lambda: [tf.no_op(), tf.constant(1.0)])
        with pytest.raises(TypeError, match="must be a list"):
            ipu_compiler.compile(tf.identity, tf.constant(1.0))


def case_loops_carry_what_they_are_given() -> None:
    with tf.Graph().as_default(), scopes.ipu_scope("/device:IPU:0"):
        doubled = loops.repeat(3, lambda x: x * 2.0, [1.0])
        summed = loops.for_loop(0, 10, 3, lambda i, total: total + i, [0])
        below = loops.while_loop(lambda x: x < 100.0, lambda x: x * 3.0, [1.0])
        with pytest.raises(ValueError, match="carries 1 values and returned 2"):
            loops.repeat(3, lambda x: (x, x), [1.0])
        with tf1.Session() as session:
            assert session.run([doubled, summed, below]) == [[8.0], [18], [243.0]]


def case_a_custom_op_in_a_loop_has_its_gradient() -> None:
    """w <- w - 0.1 d/dw sum((w + 2 w)^2), three times: w <- (1 - 1.8) w."""
    with tf.Graph().as_default():

        def body() -> Any:
            w = tf1.get_variable("w", [3, 4], initializer=tf1.ones_initializer())
            (y,) = op("Sum", [w, w], separate_gradients=True)
            return tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y * y))

        with scopes.ipu_scope("/device:IPU:0"):
            program = ipu_compiler.compile(lambda: loops.repeat(3, body, []))
        configured()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            session.run(program)
            (w,) = session.run(tf1.global_variables())
    np.testing.assert_allclose(w, np.full((3, 4), (-0.8) ** 3), rtol=1e-5)


def case_the_infeed_is_started_once() -> None:
    with tf.Graph().as_default():
        feed = IPUInfeedQueue(batches())
        assert feed.initializer is not None
        with pytest.raises(RuntimeError, match="already initialized"):
            feed.initializer  # noqa: B018 (a property that may be read once)
        with pytest.raises(RuntimeError, match="in programs on the IPU only"):
            feed.dequeue()


def case_event_traces_are_empty() -> None:
    from tensorflow.compiler.plugin.poplar.ops import gen_ipu_ops

    with tf.Graph().as_default(), tf1.Session() as session:
        events = session.run(gen_ipu_ops.ipu_event_trace())
    assert utils.extract_all_strings_from_event_trace(events) == ""
    assert utils.extract_compile_reports(events) == []


def case_normalisations_with_the_default_name_have_variables_of_their_own() -> None:
    with tf.Graph().as_default():
        for _ in range(2):
            ipu.normalization_ops.layer_norm(tf.zeros([2, 4]), scope=None)
        assert len(tf1.global_variables()) == 4


SEQUENCE = np.random.RandomState(3).randn(5, 2, 3).astype(np.float32)  # [time, batch, channels]
UNITS = 4


def weights(*shape: int) -> Any:
    return np.random.RandomState(4).uniform(-0.9, 0.9, shape).astype(np.float32)


def recurrent(layer: Any, *arguments: Any, **named: Any) -> Any:
    """Return outputs, the last state, variables and the gradient of the outputs' sum."""
    with tf.Graph().as_default():
        with scopes.ipu_scope("/device:IPU:0"):

            def program(x: Any) -> Any:
                outputs, state = layer(x, *arguments, **named)
                gradients = tf.gradients(tf.reduce_sum(outputs * outputs), layer.kernel)
                return [outputs, *gradients, *tf.nest.flatten(state)]

            x = tf1.placeholder(tf.float32, SEQUENCE.shape)
            built = ipu_compiler.compile(program, [x])
        names = [each.op.name for each in tf1.trainable_variables()]
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            outputs, gradient, *state = session.run(built, {x: SEQUENCE})
    return outputs, state, names, gradient


def initial(gates: int, *biases: int) -> Any:
    return {
        "weights_initializer": tf1.constant_initializer(weights(3 + UNITS, gates * UNITS)),
        "bias_initializer": tf1.constant_initializer(weights(*biases)),
    }


def case_recurrent_layers_of_sessions_equal_those_of_keras() -> None:
    """With the same weights: `kernel` and `biases` are those of Keras, put together."""
    from ipu_tensorflow_addons.layers import PopnnGRU, PopnnLSTM

    keras, whole = tf.keras.layers, {"return_sequences": True, "return_state": True}
    for layer, kind, options, biases, scope in (
        (PopnnLSTM, keras.LSTM, {}, [4, UNITS], "popnn_lstm"),
        (PopnnGRU, keras.GRU, {"reset_after": False}, [3, UNITS], "popnn_gru"),
        (PopnnGRU, keras.GRU, {"reset_after": True}, [3, 2, UNITS], "popnn_gru"),
    ):
        gates = biases[0]
        outputs, state, names, gradient = recurrent(
            layer(UNITS, partials_dtype=tf.float32, **initial(gates, *biases), **options)
        )
        assert names == [f"{scope}/kernel", f"{scope}/biases"]
        reference = kind(UNITS, **options, **whole)
        batches = tf.constant(SEQUENCE.transpose(1, 0, 2))
        reference(batches)
        kernel, bias = weights(3 + UNITS, gates * UNITS), weights(*biases)
        bias = bias.transpose(1, 0, 2).reshape(2, -1) if len(biases) == 3 else bias.reshape(-1)
        reference.set_weights([kernel[:3], kernel[3:], bias])
        with tf.GradientTape() as tape:
            expected, *last = reference(batches)
            loss = tf.reduce_sum(expected * expected)
        by_kernel = tape.gradient(loss, reference.trainable_variables[:2])
        np.testing.assert_allclose(outputs.transpose(1, 0, 2), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(gradient, np.concatenate(by_kernel), rtol=1e-4, atol=1e-5)
        for found, right in zip(state[::-1], last):  # (c, h) here and (h, c) in Keras
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)


def case_sequences_of_several_lengths_end_with_zeros() -> None:
    from tensorflow.python.ipu.ops.rnn_ops import PopnnDynamicGRU, PopnnDynamicLSTM, PopnnLSTM

    whole, *_ = recurrent(PopnnLSTM(UNITS, **initial(4, 4, UNITS)))
    outputs, (_, h), *_ = recurrent(PopnnDynamicLSTM(UNITS, **initial(4, 4, UNITS)), [2, 5])
    np.testing.assert_array_equal(outputs[2:, 0], 0.0)
    np.testing.assert_allclose(outputs[:2, 0], whole[:2, 0], rtol=1e-6)
    np.testing.assert_allclose(outputs[:, 1], whole[:, 1], rtol=1e-6)
    np.testing.assert_allclose(h, [whole[1, 0], whole[4, 1]], rtol=1e-6)
    outputs, (h,), names, _ = recurrent(PopnnDynamicGRU(UNITS, name="mine"), [0, 5])
    np.testing.assert_array_equal(h[0], 0.0)
    assert set(names) == {f"mine/{each}" for each in ("kernel", "biases", "bias_r_u", "bias_c")}


def case_attention_scales_the_update_gate() -> None:
    from ipu_tensorflow_addons.layers import PopnnAUGRU

    scores = np.random.RandomState(5).rand(5, 2).astype(np.float32)
    kernel, h = weights(3 + UNITS, 3 * UNITS), np.zeros((2, UNITS))
    layer = PopnnAUGRU(UNITS, weights_initializer=tf1.constant_initializer(kernel))
    outputs, *_ = recurrent(layer, [5, 5], scores)
    for x, score, output in zip(SEQUENCE, scores, outputs):
        both = np.concatenate([x, h], 1) @ kernel[:, : 2 * UNITS] + 1.0  # biases of the gates
        update, reset = np.split(1 / (1 + np.exp(-both)), 2, axis=1)
        candidate = np.tanh(np.concatenate([x, reset * h], 1) @ kernel[:, 2 * UNITS :])
        update = (1 - score[:, None]) * update
        h = update * h + (1 - update) * candidate
        np.testing.assert_allclose(output, h, rtol=1e-5, atol=1e-6)


def case_wrong_recurrent_layers_are_errors() -> None:
    from ipu_tensorflow_addons.layers import PopnnLSTM

    with pytest.raises(ValueError, match="'selu' is no activation"):
        PopnnLSTM(UNITS, activation="selu")
    with pytest.raises(ValueError, match="float16 or float32"):
        PopnnLSTM(UNITS, dtype=tf.float64)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="LSTMStateTuple"):
            PopnnLSTM(UNITS)(SEQUENCE, (tf.zeros([2, UNITS]),) * 2)
        with pytest.raises(ValueError, match=r"time, batch, channels"):
            PopnnLSTM(UNITS)(SEQUENCE[0])
