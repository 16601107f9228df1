"""A loss with equations as operations of TensorFlow that XLA compiles, for programs on devices.

Each instruction of the loss and of its derivative becomes one operation in float32.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple

import tensorflow as tf

from ipulse_core.equations.loss import (
    CLASS_COUNT,
    LABEL,
    RIGHT,
    STEP,
    STEP_COUNT,
    STEP_TARGET,
)
from ipulse_core.equations.loss_program import LOSS, PREDICTION, by_readout, spread_to
from ipulse_core.equations.step_program import StepProgram
from ipulse_ops.equations.loss import LossEvaluator, has_steps, layer_sizes

_TIME, _CLASSES = 0, 2  # axes of [time, batch, classes]
_Operations = Mapping[str, Callable[..., Any]]


def loss_in_xla(
    evaluator: LossEvaluator, readout: Mapping[str, Any], right: Any
) -> Tuple[Any, Any, List[Any]]:
    """Return what LossValues describes, in float32; gradients are in the order of the readout.

    readout, right: as LossEvaluator describes them, as tensors of static shapes.
    """
    classes, steps, batch = evaluator.classes, evaluator.steps, right.shape[0]
    reads = evaluator.equations.reads
    inputs = {
        CLASS_COUNT: _number(classes),
        STEP_COUNT: _number(steps),
        STEP: tf.constant([[[float(step)]] for step in range(steps)], tf.float32),
    }
    for name, values in readout.items():
        inputs[name] = values if has_steps(name) else values[tf.newaxis]
    for name in RIGHT:
        if name in reads:
            inputs[name] = _compared(name, right, classes)
    sizes = layer_sizes(evaluator.equations)
    found = _evaluated(evaluator.program, inputs, _operations(classes, steps, sizes))
    loss = tf.reshape(tf.broadcast_to(found[LOSS], [1, batch, 1]), [batch])
    gradients = []
    for name, values in readout.items():
        shape = values.shape if has_steps(name) else [1, *values.shape]
        wide = tf.broadcast_to(found[by_readout(name)], shape)
        gradients.append(tf.reshape(wide, values.shape))
    predicted = found[PREDICTION]
    if STEP_TARGET in reads:
        every = tf.broadcast_to(predicted, [steps, batch, classes])
        return loss, tf.transpose(every, [1, 0, 2]), gradients
    return loss, tf.broadcast_to(predicted, [1, batch, classes])[0], gradients


def _evaluated(
    program: StepProgram, inputs: Mapping[str, Any], operations: _Operations
) -> Dict[str, Any]:
    values: List[Any] = []
    for operation, arguments, value, name in program.instructions:
        if operation == "constant":
            values.append(_number(value))
        elif operation == "input":
            values.append(inputs[name])
        else:
            given = (values[number] for number in arguments)
            values.append(tf.cast(operations[operation](*given), tf.float32))
    return {name: values[number] for name, number in program.outputs.items()}


def _number(value: float) -> Any:
    """Return a number with the axes of all values."""
    return tf.fill([1, 1, 1], tf.constant(value, tf.float32))


def _compared(name: str, right: Any, classes: int) -> Any:
    if name == LABEL:
        known = tf.range(classes, dtype=tf.int32)
        found = tf.equal(tf.cast(right, tf.int32)[tf.newaxis, :, tf.newaxis], known)
        return tf.cast(found, tf.float32)
    return tf.transpose(right, [1, 0, 2]) if name == STEP_TARGET else right[tf.newaxis]


def _operations(classes: int, steps: int, sizes: Iterable[int]) -> _Operations:
    def repeated(x: Any, axis: int, count: int) -> Any:
        shape = x.shape.as_list()
        shape[axis] = count
        return tf.broadcast_to(x, shape)

    return {
        **_ELEMENTWISE,
        "spread": lambda x: repeated(x, _CLASSES, classes),
        **{
            spread_to(count): lambda x, count=count: repeated(x, _CLASSES, count) for count in sizes
        },
        "spread_over_time": lambda x: repeated(x, _TIME, steps),
        "at_last": lambda x: tf.pad(x[-1:], [[steps - 1, 0], [0, 0], [0, 0]]),
    }


def _logsumexp(x: Any) -> Any:
    most = tf.reduce_max(x, axis=_CLASSES, keepdims=True)
    total = tf.reduce_sum(tf.exp(x - most), axis=_CLASSES, keepdims=True)
    return most + tf.math.log(total)


_ELEMENTWISE: _Operations = {
    "add": tf.add,
    "subtract": tf.subtract,
    "multiply": tf.multiply,
    "divide": tf.divide,
    "negate": tf.negative,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "min": lambda a, b: tf.where(a <= b, a, b),
    "max": lambda a, b: tf.where(a >= b, a, b),
    "where": lambda c, a, b: tf.where(tf.not_equal(c, 0.0), a, b),
    "abs": tf.abs,
    "square": tf.square,
    "sqrt": tf.sqrt,
    "exp": tf.exp,
    "log": tf.math.log,
    "tanh": tf.tanh,
    "detach": tf.identity,
    "sum": lambda x: tf.reduce_sum(x, axis=_CLASSES, keepdims=True),
    "sum_over_time": lambda x: tf.reduce_sum(x, axis=_TIME, keepdims=True),
    "largest": lambda x: tf.reduce_max(x, axis=_CLASSES, keepdims=True),
    "max_over_time": lambda x: tf.reduce_max(x, axis=_TIME, keepdims=True),
    "last": lambda x: x[-1:],
    "logsumexp": _logsumexp,
}
