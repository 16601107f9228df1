"""ipulse_ops.direct_call: the same function, without tf.function's work on every call."""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.direct_call import DirectCall

pytestmark = pytest.mark.old_python

SIGNATURE = [tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.int64)]


@pytest.fixture
def total() -> tf.Variable:
    return tf.Variable(0.0)


@pytest.fixture
def direct(total: tf.Variable) -> DirectCall:
    @tf.function(  # type: ignore[untyped-decorator] # TensorFlow has no types
        input_signature=SIGNATURE
    )
    def function(rows: Any, factor: Any) -> Any:
        total.assign_add(tf.reduce_sum(rows))
        return {"total": total.read_value(), "rows": (rows, rows * tf.cast(factor, tf.float32))}

    return DirectCall(function)


class TestDirectCall:
    def test_gives_the_structure_and_changes_the_variables(
        self, direct: DirectCall, total: tf.Variable
    ) -> None:
        for call, samples in enumerate((3, 5), start=1):
            rows = np.full((samples, 2), 1.5, np.float32)
            actual = direct(rows, np.int64(2))
            assert total.numpy() == actual["total"].numpy() == 3 * (3 if call == 1 else 8)
            np.testing.assert_array_equal(actual["rows"][0], rows)
            np.testing.assert_array_equal(actual["rows"][1], 2 * rows)

    def test_sees_what_is_assigned_between_calls(
        self, direct: DirectCall, total: tf.Variable
    ) -> None:
        total.assign(10.0)
        assert direct(tf.ones([1, 2]), tf.constant(1, tf.int64))["total"].numpy() == 12

    def test_takes_nested_tensors_and_gives_nothing(self, total: tf.Variable) -> None:
        signature = [[tf.TensorSpec([], tf.float32)] * 2]
        add = DirectCall(tf.function(lambda pair: _add(total, pair)), *signature)
        assert add([tf.constant(1.0), tf.constant(2.0)]) is None
        assert total.numpy() == 3

    @pytest.mark.parametrize("kind", [tuple, list])
    def test_gives_one_tensor_or_several_next_to_each_other(self, kind: Any) -> None:
        signature = tf.TensorSpec([], tf.float32)
        pair = DirectCall(tf.function(lambda x: kind([x, x + 1])), signature)
        single = DirectCall(tf.function(lambda x: 2 * x), signature)
        assert pair(tf.constant(1.0)) == kind([1, 2])
        assert single(tf.constant(1.0)) == 2

    def test_keeps_the_function_and_its_variables(self) -> None:
        def made() -> DirectCall:
            here = tf.Variable(1.0)
            call = DirectCall(tf.function(lambda: here.assign_add(1.0)))
            call.trace()
            return call

        call = made()
        assert [float(call()), float(call())] == [2.0, 3.0]

    def test_computes_what_is_written(self) -> None:
        """TensorFlow's graph optimiser would multiply by 1 / 3, and take a reciprocal root."""
        values = np.linspace(0.1, 9, 1000, dtype=np.float32)
        signature = tf.TensorSpec([None], tf.float32)
        given = tf.constant(values)
        formulas: List[Callable[[Any], Any]] = [lambda x: x / 3.0, lambda x: 1 / tf.sqrt(x) + 0.0]
        for formula in formulas:
            direct = DirectCall(tf.function(formula), signature)
            np.testing.assert_array_equal(direct(given), formula(given))

    def test_refuses_what_the_signature_has_not(
        self, direct: DirectCall, total: tf.Variable
    ) -> None:
        rows, one = np.ones([1, 2], np.float32), np.int64(1)
        with pytest.raises(ValueError, match="takes 2 tensors; got 1"):
            direct(rows)
        with pytest.raises(ValueError, match=r"argument 0 must have shape \(None, 2\); got \(1, 3"):
            direct(np.ones([1, 3], np.float32), one)
        with pytest.raises(tf.errors.InvalidArgumentError):
            direct(rows.astype(np.float64), one)
        assert total.numpy() == 0

    def test_passes_on_what_the_function_raises(self) -> None:
        @tf.function  # type: ignore[untyped-decorator] # TensorFlow has no types
        def failing() -> Any:
            tf.debugging.assert_equal(tf.random.uniform([]), 2.0, "not two")
            return tf.constant(1.0)

        with pytest.raises(tf.errors.InvalidArgumentError, match="not two"):
            DirectCall(failing)()

    def test_refuses_none_next_to_tensors(self) -> None:
        with pytest.raises(ValueError, match="None among tensors"):
            DirectCall(tf.function(lambda: (tf.constant(1.0), None))).trace()


def _add(total: tf.Variable, pair: Any) -> None:
    total.assign_add(pair[0] + pair[1])
