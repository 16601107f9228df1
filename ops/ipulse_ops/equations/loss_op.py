"""A loss with equations as an operation of TensorFlow."""

from __future__ import annotations

from typing import Any, List, Mapping, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.equations.loss import LABEL
from ipulse_ops.equations.loss import LossEvaluator


def loss_with_equations(
    evaluator: LossEvaluator, readout: Mapping[str, Any], right: Any
) -> Tuple[Any, Any]:
    """Return the loss, float32 `[batch]`, and what is predicted.

    The latter are the classes with the largest predictions, int32 `[batch]`, the lowest of equal
    ones, or in a regression the predictions as float32, in the shape of the targets.

    readout, right: as LossEvaluator describes them, as tensors; readout in float32.
    """
    names = list(readout)
    is_regression = LABEL not in evaluator.equations.reads
    predicted_type = tf.float32 if is_regression else tf.int32

    def run(right: np.ndarray, *arrays: np.ndarray) -> List[np.ndarray]:
        found = evaluator(dict(zip(names, arrays)), right)
        predicted = found.prediction
        if not is_regression:
            predicted = np.argmax(predicted, axis=-1)
        grads = [found.gradients[name].astype(np.float32) for name in names]
        kind = predicted_type.as_numpy_dtype
        return [found.loss.astype(np.float32), predicted.astype(kind), *grads]

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def apply(*tensors: Any) -> Tuple[Any, Any]:
        types = [tf.float32, predicted_type, *[tf.float32] * len(tensors)]
        by_sample, predicted, *grads = tf.numpy_function(run, [right, *tensors], types)
        by_sample.set_shape([right.shape[0]])
        predicted.set_shape(right.shape)
        for grad, tensor in zip(grads, tensors):
            grad.set_shape(tensor.shape)

        def gradient(upstream: Any, _: Any) -> List[Any]:
            # A sample that does not count has 0 here, whatever its own gradient is.
            column = upstream[:, tf.newaxis]
            return [tf.math.multiply_no_nan(grad, column) for grad in grads]

        return (by_sample, predicted), gradient

    made: Tuple[Any, Any] = apply(*(readout[name] for name in names))
    return made
