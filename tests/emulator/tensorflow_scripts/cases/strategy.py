"""Configuration, strategy.run, queues and custom ops in TensorFlow 2."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, List, Sequence

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import ipu_infeed_queue, ipu_outfeed_queue
from tensorflow.python.ipu.config import IPUConfig

from ipu_tensorflow_emulator import process, report

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


def configured(ipus: int = 1) -> Any:
    config = IPUConfig()
    config.auto_select_ipus = ipus
    config.configure_ipu_system()
    return ipu.ipu_strategy.IPUStrategy()


def op(name: str, inputs: Sequence[Any], shape: Sequence[int] = X.shape, **more: Any) -> List[Any]:
    outs = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape(shape)]}
    return ipu.custom_ops.precompiled_user_op(
        inputs, os.environ["CUSTOM_OPS"], outs=outs, op_name=name, **more
    )


def rows(count: int = 6) -> Any:
    values = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    return tf.data.Dataset.from_tensor_slices(values).batch(2, drop_remainder=True).repeat()


def case_both_ways_to_a_module_are_one() -> None:
    from tensorflow.python.ipu.ops import custom_ops

    assert ipu.custom_ops is ipu.ops.custom_ops is custom_ops
    assert ipu.utils.IPUConfig is ipu.config.IPUConfig


def case_config_is_checked_as_it_is_assigned() -> None:
    config = IPUConfig()
    with pytest.raises(AttributeError, match="Did you mean 'auto_select_ipus'"):
        config.auto_select_ipu = 1
    with pytest.raises(TypeError, match=r"floating_point_behaviour\.esr"):
        config.floating_point_behaviour.esr = True
    with pytest.raises(ValueError, match="is a category"):
        config.matmuls = {}
    esr = ipu.config.StochasticRoundingBehaviour.from_bool(True)
    config.floating_point_behaviour.esr = esr
    assert "IPUConfig.floating_point_behaviour.esr" in process.STATE.without_effect


def case_too_many_ipus_say_how_to_have_more() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="--ipus 64"):
        configured(64)


def case_run_needs_a_function_of_tensorflow() -> None:
    with pytest.raises(ValueError, match=r"is no tf\.function"):
        configured().run(lambda: 1)


def case_float64_is_refused_at_the_border() -> None:
    strategy = configured()
    with pytest.raises(TypeError, match="float64"):
        strategy.run(tf.function(lambda x: x), args=(tf.constant(1.0, tf.float64),))
    with pytest.raises(TypeError, match="float64"):
        strategy.run(tf.function(lambda: tf.constant(1.0, tf.float64)))
    half = np.ones(2, np.float16)  # an array, of another type
    assert strategy.run(tf.function(lambda x: 2 * x), args=(half,)).numpy().tolist() == [2, 2]
    with pytest.raises(TypeError, match="float64"):
        strategy.run(tf.function(lambda x: x), args=(np.ones(2),))


def case_a_variable_must_be_created_in_the_scope() -> None:
    strategy = configured()
    outside = tf.Variable(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"create it in strategy\.scope"):
        strategy.run(tf.function(lambda: outside + 1.0))


def case_further_replicas_are_said_to_be_idle() -> None:
    @tf.function(jit_compile=True)
    def program() -> Any:
        return tf.constant(1.0)

    strategy = configured(2)
    assert float(strategy.run(program)) == 1.0
    assert any("one replica" in each for each in process.STATE.without_effect)


def case_training_equals_stock_tensorflow() -> None:
    """SGD with momentum over queues, ten steps, with and without the lines for the IPU."""

    def trained(optimizer: Any, w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - 1.0) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    def variables() -> Any:
        return tf.keras.optimizers.SGD(0.002, momentum=0.9), tf.Variable(tf.ones([2, 3]))

    strategy = configured()
    feed, out = ipu_infeed_queue.IPUInfeedQueue(rows()), ipu_outfeed_queue.IPUOutfeedQueue()
    last = ipu_outfeed_queue.IPUOutfeedQueue(ipu_outfeed_queue.IPUOutfeedMode.LAST)
    with strategy.scope():
        optimizer, w = variables()

        @tf.function(experimental_compile=True)
        def steps(iterator: Any, count: int) -> None:
            for _ in tf.range(count):
                loss = trained(optimizer, w, next(iterator))
                out.enqueue(loss)
                last.enqueue({"loss": loss})

        iterator = iter(feed)
        for _ in range(2):
            strategy.run(steps, args=(iterator, 5))
    stock, stock_w = variables()
    losses = [trained(stock, stock_w, x) for x in rows().take(10)]
    found = out.dequeue()
    assert found.shape == (10,)
    np.testing.assert_allclose(found, np.array(losses), rtol=1e-5)
    np.testing.assert_allclose(w, stock_w, rtol=1e-5)
    np.testing.assert_array_equal(last.dequeue()["loss"], found[-1])
    assert out.dequeue().shape == (0,)
    assert list(out) == []


def case_queues_refuse_what_ipus_cannot_have() -> None:
    strategy = configured()
    ragged = tf.data.Dataset.from_tensor_slices(X).batch(2)
    with pytest.raises(ValueError, match="drop_remainder=True"):
        ipu_infeed_queue.IPUInfeedQueue(ragged)
    doubles = tf.data.Dataset.from_tensors(np.zeros(3))
    with pytest.raises(ValueError, match="float64"):
        ipu_infeed_queue.IPUInfeedQueue(doubles)
    with pytest.raises(ValueError, match="1 to 255"):
        ipu_infeed_queue.IPUInfeedQueue(rows(), prefetch_depth=300)
    out = ipu_outfeed_queue.IPUOutfeedQueue()
    with pytest.raises(RuntimeError, match="by programs on the IPU only"):
        out.enqueue(tf.constant(1.0))
    with pytest.raises(ValueError, match="no enqueue operation yet"):
        out.dequeue()

    @tf.function
    def twice() -> None:
        out.enqueue(tf.constant(1.0))
        out.enqueue(tf.constant(2.0))

    with pytest.raises(ValueError, match="only be enqueued once"):
        strategy.run(twice)


def case_custom_op_and_its_gradient() -> None:
    """a + 2 b: values by NumPy, gradients written out and by finite differences."""
    strategy = configured()
    separate = {"separate_gradients": True}

    @tf.function(jit_compile=True)
    def both(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            (y,) = op("Sum", [a, b], **separate)
            loss = tf.reduce_sum(y * y)
        return y, loss, tape.gradient(loss, [a, b])

    y, _, (by_a, by_b) = strategy.run(both, args=(tf.constant(X), tf.constant(X + 1)))
    np.testing.assert_array_equal(y, 3 * X + 2)
    np.testing.assert_array_equal(by_a, 2 * (3 * X + 2))
    np.testing.assert_array_equal(by_b, 4 * (3 * X + 2))
    step = np.zeros_like(X)
    step[1, 2] = 0.5
    higher, lower = (
        strategy.run(both, args=(tf.constant(X), tf.constant(X + 1 + sign * step)))[1]
        for sign in (1, -1)
    )
    np.testing.assert_allclose(higher - lower, by_b[1, 2], rtol=1e-4)


def case_a_custom_op_without_gradient_runs_forward_only() -> None:
    strategy = configured()

    @tf.function
    def forward(x: Any) -> Any:
        return op("Elementwise", [x])[0]

    np.testing.assert_array_equal(strategy.run(forward, args=(tf.constant(X),)), 2 * X)

    @tf.function
    def backward(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = op("Elementwise", [x])[0]
        return tape.gradient(y, x)

    with pytest.raises(Exception, match="Elementwise_grad"):
        strategy.run(backward, args=(tf.constant(X),))


def case_a_custom_op_exists_on_the_device_only() -> None:
    configured()
    with pytest.raises(RuntimeError, match="IpuUserOp"):
        op("Sum", [X, X])


def case_wrong_custom_ops_are_errors() -> None:
    strategy = configured()
    with strategy.scope():
        with pytest.raises(tf.errors.InternalError, match="NoSuchOp"):
            op("NoSuchOp", [X])
        with pytest.raises(tf.errors.InternalError, match="no such file"):
            ipu.custom_ops.precompiled_user_op([X], "/no/such/library.so")
        with pytest.raises(ValueError, match="inputs_with_gradients"):
            op("Sum", [X, X], inputs_with_gradients=[2])
        with pytest.raises(ValueError, match="attributes must be a string"):
            op("Sum", [X, X], attributes={"a": 1})
        with pytest.raises(tf.errors.FailedPreconditionError, match="float64"):
            op("Sum", [X.astype(np.float64)])
        outs = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape(X.shape)]}
        older = Path(os.environ["SCRATCH"]) / "libolder.so"
        source = 'extern "C" { int custom_op_api_level = 3; void Build() {} }'
        command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(older)]
        subprocess.run(command, input=source.encode(), check=True)
        with pytest.raises(tf.errors.InternalError, match="is 3, expected 5"):
            ipu.custom_ops.precompiled_user_op([X], str(older), outs=outs)


def case_integer_counts_break_the_gradient_in_a_loop() -> None:
    """The TypeError that a spike count of type int32 gives in an RNN."""
    strategy = configured()
    shapes = [tf.TensorShape(X.shape), tf.TensorShape((3, 1))]
    outs = {"output_types": [tf.float32, tf.int32], "output_shapes": shapes}

    @tf.function
    def run(x: Any) -> Any:
        def once(x: Any) -> Any:
            library = os.environ["CUSTOM_OPS"]
            arguments = {"outs": outs, "op_name": "WholeCount"}
            return ipu.custom_ops.precompiled_user_op([x], library, **arguments)[:1]

        with tf.GradientTape() as tape:
            tape.watch(x)
            (y,) = tf.while_loop(lambda x: True, once, (x,), maximum_iterations=3)
        return tape.gradient(y, x)

    with pytest.raises(TypeError, match=r"<NOT CONVERTIBLE TO TENSOR>, float32, int32"):
        strategy.run(run, args=(tf.constant(X),))


def case_the_report_keeps_tiles_and_host_apart() -> None:
    strategy = configured()

    @tf.function
    def program(x: Any) -> Any:
        return tf.tanh(op("Sum", [x, x], inputs_with_gradients=[])[0])

    for _ in range(3):
        strategy.run(program, args=(tf.constant(X),))
    found = report.document()
    (custom,) = found["custom_ops"]
    alone = process.device().usage()[0].profile["execution"]["totalCycles"]["total"]
    assert custom["calls"] == {"forward": 3, "backward": 0}
    assert (custom["bytes_in"], custom["bytes_out"]) == (3 * 2 * X.nbytes, 3 * X.nbytes)
    assert custom["cycles"] == alone > 0
    assert 1 <= custom["tiles_used"] <= custom["tiles"] == 16
    (host,) = found["host_programs"]
    assert host["runs"] == 3
    assert host["ops_by_type"] == {"Tanh": 1}
    text = report.text().lower()
    assert "tanh 1" in text
    assert " 3x4 " in text  # the shape of the op's first input
    assert not [word for word in ("seconds", "utilisation", "step time", " ms") if word in text]


def case_compilation_only_runs_nothing() -> None:
    config = IPUConfig()
    config.auto_select_ipus = 1
    config.device_connection.type = ipu.config.DeviceConnectionType.NEVER
    with pytest.raises(ValueError, match=r"device_connection\.version"):
        config.configure_ipu_system()
    config.device_connection.version = "ipu2"
    config.configure_ipu_system()
    program = tf.function(lambda: tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="compilation only"):
        ipu.ipu_strategy.IPUStrategy().run(program)
    os.environ["TF_POPLAR_FLAGS"] = "--executable_cache_path=" + os.environ["SCRATCH"]
    try:
        config.device_connection.type = ipu.config.DeviceConnectionType.PRE_COMPILE
        config.configure_ipu_system()
        process.STATE.flags = None
        assert ipu.ipu_strategy.IPUStrategy().run(program) == 0.0
    finally:
        del os.environ["TF_POPLAR_FLAGS"]


def case_unknown_flags_end_the_script() -> None:
    os.environ["TF_POPLAR_FLAGS"] = "--use_ipu_modell"
    try:
        with pytest.raises(SystemExit, match="use_ipu_modell"):
            configured()
    finally:
        del os.environ["TF_POPLAR_FLAGS"]
