"""A loss with equations as an operation of TensorFlow.

On a CPU it is computed in float64 by LossEvaluator, and in a program that XLA compiles for a device
in float32 by operations of TensorFlow.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.equations.loss import STEP_TARGET, TARGET
from ipulse_ops.equations.loss import LossEvaluator, has_steps
from ipulse_ops.equations.loss_in_xla import loss_in_xla
from ipulse_ops.unsupported import in_xla

_MOST_VALUES = 1 << 22  # of an array that is computed at once


def loss_with_equations(
    evaluator: LossEvaluator, readout: Mapping[str, Any], right: Any
) -> Tuple[Any, Any]:
    """Return the loss or penalty, float32 `[batch]`, and what is predicted.

    The latter are the classes with the largest predictions, int32 `[batch]`, the lowest of equal
    ones, or in a regression the predictions as float32, in the shape of the targets.

    readout, right: as LossEvaluator describes them, as tensors; readout in float32. A penalty that
        reads no target takes labels or targets, of which it uses the number of samples.
    """
    names = list(readout)
    is_regression = not {TARGET, STEP_TARGET}.isdisjoint(evaluator.equations.reads)
    is_compiled = in_xla()
    predicted_type = tf.float32 if is_regression else tf.int32

    def run(right: np.ndarray, *arrays: np.ndarray) -> List[np.ndarray]:
        found = evaluator(dict(zip(names, arrays)), right)
        predicted = found.prediction
        if not is_regression:
            predicted = np.argmax(predicted, axis=-1)
        grads = [found.gradients[name].astype(np.float32) for name in names]
        kind = predicted_type.as_numpy_dtype
        return [found.loss.astype(np.float32), predicted.astype(kind), *grads]

    def run_in_parts(right: np.ndarray, *arrays: np.ndarray) -> List[np.ndarray]:
        """Run a few samples at a time: values of all neurons and steps in float64 are large."""
        values = max([each.size for each in arrays], default=0)
        parts = min(len(right), -(-values // _MOST_VALUES))
        if parts < 2:
            return run(right, *arrays)
        axes = [1 if has_steps(name) else 0 for name in names]
        split = [np.array_split(each, parts, axis) for each, axis in zip(arrays, axes)]
        runs = [run(*each) for each in zip(np.array_split(right, parts), *split)]
        joined = zip([0, 0, *axes], zip(*runs))
        return [np.concatenate(each, axis) for axis, each in joined]

    def on_host(tensors: Sequence[Any]) -> Tuple[Any, Any, List[Any]]:
        types = [tf.float32, predicted_type, *[tf.float32] * len(tensors)]
        by_sample, predicted, *grads = tf.numpy_function(run_in_parts, [right, *tensors], types)
        by_sample.set_shape([right.shape[0]])
        predicted.set_shape(right.shape if is_regression else [right.shape[0]])
        for grad, tensor in zip(grads, tensors):
            grad.set_shape(tensor.shape)
        return by_sample, predicted, grads

    def on_device(tensors: Sequence[Any]) -> Tuple[Any, Any, List[Any]]:
        by_name = dict(zip(names, tensors))
        by_sample, predicted, grads = loss_in_xla(evaluator, by_name, right)
        if not is_regression:
            predicted = tf.argmax(predicted, axis=-1, output_type=tf.int32)
        return by_sample, predicted, grads

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def apply(*tensors: Any) -> Tuple[Any, Any]:
        by_sample, predicted, grads = (on_device if is_compiled else on_host)(tensors)

        def gradient(upstream: Any, _: Any) -> List[Any]:
            # A sample that does not count has 0 here, whatever its own gradient is.
            column = upstream[:, tf.newaxis]
            if is_compiled:
                counts = tf.not_equal(column, 0.0)
                return [tf.where(counts, grad * column, 0.0) for grad in grads]
            return [tf.math.multiply_no_nan(grad, column) for grad in grads]

        return (by_sample, predicted), gradient

    made: Tuple[Any, Any] = apply(*(readout[name] for name in names))
    return made
