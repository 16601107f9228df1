"""The stand-in for `tensorflow.python.ipu` refuses what Graphcore's TensorFlow would refuse."""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.poplar.build import build
from tests.ipu_fake import State, install


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    monkeypatch.delenv("TF_POPLAR_FLAGS", raising=False)
    return install(monkeypatch)


@pytest.fixture
def ipu(state: State) -> Any:
    from tensorflow.python import ipu  # type: ignore[attr-defined] # where it was put

    return ipu


@pytest.fixture
def strategy(ipu: Any) -> Any:
    """Return a configuration for one IPU."""
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    return ipu.ipu_strategy.IPUStrategy()


class TestIPUConfig:
    @pytest.mark.parametrize(
        ("path", "value", "error", "words"),
        [
            ("auto_select_ipu", 1, AttributeError, "Did you mean 'auto_select_ipus'"),
            ("auto_select_ipus", "1", TypeError, "auto_select_ipus"),
            ("auto_select_ipus", True, TypeError, "auto_select_ipus"),
            ("select_ipus", [1.0], TypeError, "select_ipus"),
            ("device_connection.type", "ALWAYS", TypeError, "device_connection.type"),
            ("device_connection.version", None, TypeError, "device_connection.version"),
            ("device_connection", {"type": 1}, ValueError, "is a category"),
            ("ipus", 1, AttributeError, "is no attribute"),
            ("compilation_poplar_options", {"autoReport.all": True}, TypeError, "poplar_options"),
            ("optimizations.math.fastest", True, AttributeError, "Did you mean 'fast'"),
        ],
    )
    def test_checks_what_is_assigned(
        self, ipu: Any, path: str, value: Any, error: Any, words: str
    ) -> None:
        at = ipu.config.IPUConfig()
        *sections, name = path.split(".")
        for section in sections:
            at = getattr(at, section)
        with pytest.raises(error, match=words):
            setattr(at, name, value)

    def test_checks_what_belongs_together(self, ipu: Any) -> None:
        config = ipu.config.IPUConfig()
        config.device_connection.type = ipu.config.DeviceConnectionType.NEVER
        with pytest.raises(ValueError, match="version` must be set"):
            config.configure_ipu_system()
        config = ipu.config.IPUConfig()
        config.auto_select_ipus, config.select_ipus = 1, [3]
        with pytest.raises(Exception, match="Only one of"):
            config.configure_ipu_system()

    def test_has_the_documented_names_alone(self, ipu: Any) -> None:
        for place, name in ((ipu, "embedded_runtime"), (ipu.config, "IpuConfig")):
            with pytest.raises(AttributeError):
                getattr(place, name)
        with pytest.raises(TypeError):
            ipu.ipu_outfeed_queue.IPUOutfeedQueue(feed_name="a")  # of TensorFlow 1

    def test_an_unknown_flag_ends_the_process(
        self, ipu: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TF_POPLAR_FLAGS", "--executable_cache=/tmp")
        with pytest.raises(SystemExit, match="executable_cache"):
            ipu.config.IPUConfig().configure_ipu_system()


class TestOrder:
    @pytest.mark.parametrize(
        "early",
        [
            lambda ipu: ipu.ipu_strategy.IPUStrategy(),
            lambda ipu: iter(ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.range(3))),
            lambda ipu: ipu.ipu_outfeed_queue.IPUOutfeedQueue().enqueue(tf.constant(1.0)),
            lambda ipu: ipu.ipu_outfeed_queue.IPUOutfeedQueue().dequeue(),
            lambda ipu: ipu.custom_ops.precompiled_user_op([], "op.so"),
        ],
        ids=["strategy", "infeed", "enqueue", "dequeue", "custom op"],
    )
    def test_what_comes_too_early_is_refused(self, ipu: Any, early: Callable[[Any], Any]) -> None:
        with pytest.raises(RuntimeError):
            early(ipu)

    def test_queues_are_of_programs_alone(self, ipu: Any, strategy: Any) -> None:
        queue = iter(ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.range(3)))
        for outside in (lambda: next(queue), tf.function(lambda: next(queue))):
            with pytest.raises(RuntimeError, match="on the device alone"):
                outside()

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [({"device_ordinal": -1}, ValueError), ({"optimise_latency": 1}, TypeError)],
        ids=str,
    )
    def test_queues_take_what_is_documented(self, ipu: Any, wrong: Any, error: Any) -> None:
        with pytest.raises(error):
            ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.range(3), **wrong)
        with pytest.raises(error):
            ipu.ipu_outfeed_queue.IPUOutfeedQueue(**wrong)

    def test_a_new_configuration_ends_the_strategy(self, ipu: Any, strategy: Any) -> None:
        ipu.config.reset_ipu_configuration()
        with pytest.raises(RuntimeError, match="configured anew"):
            strategy.run(tf.function(lambda: 1, jit_compile=True))


class TestPrograms:
    def run(self, strategy: Any, function: Any, *arguments: Any) -> Any:
        return strategy.run(tf.function(function, jit_compile=True), args=list(arguments))

    @pytest.mark.old_python
    def test_are_compiled_as_a_whole(self, strategy: Any) -> None:
        for wrong in (lambda x: x, tf.function(lambda x: x)):
            with pytest.raises(ValueError, match=r"tf.function|jit_compile"):
                strategy.run(wrong, args=[tf.constant(1.0)])
        assert self.run(strategy, lambda x: x + 1, tf.constant(1.0)).numpy() == 2.0

    def test_have_no_doubles(self, strategy: Any) -> None:
        one = tf.constant(1.0)
        for function, given in ((lambda x: x, tf.cast(one, tf.float64)), (_as_double, one)):
            with pytest.raises(TypeError, match="float64"):
                self.run(strategy, function, given)

    def test_have_no_doubles_inside_either(self, strategy: Any) -> None:
        with pytest.raises(tf.errors.FailedPreconditionError, match="f64"):
            self.run(strategy, lambda x: tf.cast(_as_double(x) + 1, tf.float32), tf.constant(1.0))

    def test_give_back_what_was_enqueued_in_its_structure(self, ipu: Any, strategy: Any) -> None:
        queue = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        self.run(strategy, lambda x: queue.enqueue({"loss": x}), tf.constant(1.0))
        assert queue.dequeue()["loss"].numpy().tolist() == [1.0]

    def test_have_only_ops_that_xla_compiles(self, strategy: Any) -> None:
        def of_the_host(x: Any) -> Any:
            return tf.numpy_function(np.sin, [x], tf.float32)

        with pytest.raises(tf.errors.OpError, match="PyFunc"):
            self.run(strategy, of_the_host, tf.constant(1.0))

    def test_use_variables_of_the_device(self, strategy: Any) -> None:
        elsewhere = tf.Variable(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="located in device CPU:0"):
            self.run(strategy, lambda: elsewhere + 1)
        with strategy.scope():
            here = tf.Variable(1.0)
        assert self.run(strategy, lambda: here + 1).numpy() == 2.0

    def test_enqueue_once(self, ipu: Any, strategy: Any) -> None:
        queue = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

        def twice(x: Any) -> None:
            queue.enqueue(x)
            queue.enqueue(x)

        with pytest.raises(ValueError, match="only once"):
            self.run(strategy, twice, tf.constant(1.0))

    @pytest.mark.old_python
    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"attributes": 3}, ValueError),
            ({"outs": {"output_types": []}}, ValueError),
            ({"gp_path": None}, TypeError),
            ({"codelets": ""}, TypeError),
            ({"separate_gradients": "no"}, TypeError),
            ({"inputs_with_gradients": [1]}, ValueError),
        ],
        ids=str,
    )
    def test_call_custom_ops_as_documented(
        self, ipu: Any, strategy: Any, wrong: Any, error: Any
    ) -> None:
        def call(x: Any) -> List[Any]:
            outputs: List[Any] = ipu.custom_ops.precompiled_user_op(
                [x], str(build().library), **wrong
            )
            return outputs

        with pytest.raises(error):
            self.run(strategy, call, tf.constant(1.0))

    def test_need_a_cache_to_be_compiled_ahead(self, ipu: Any) -> None:
        config = ipu.config.IPUConfig()
        config.device_connection.type = ipu.config.DeviceConnectionType.PRE_COMPILE
        config.device_connection.version = "ipu2"
        config.configure_ipu_system()
        strategy = ipu.ipu_strategy.IPUStrategy()
        with pytest.raises(tf.errors.FailedPreconditionError, match="cache path"):
            self.run(strategy, lambda x: x + 1, tf.constant(1.0))


def _as_double(x: Any) -> Any:
    return tf.cast(x, tf.float64)
