"""Seeds and steps as the ops take them: numbers of Python, or tensors that change per call."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ipulse_ops.philox import key_of
from ipulse_ops.validation import whole


def word64(seed: Any) -> Any:
    """An int64 scalar with the 64 bits of a seed; a tensor is taken as it is.

    Raises ValueError unless a number is from 0 to 2^64 - 1, a tensor one whole number.
    """
    if isinstance(seed, (int, np.integer)):
        key_of(seed)
        seed = int(seed)
        return tf.constant(seed - 2**64 if seed >= 2**63 else seed, tf.int64)
    return _one_number("seed", seed)


def first_step_word(step: Any) -> Any:
    """An int64 scalar of a step.

    Raises ValueError unless a number is from 0 to 2^31 - 1, a tensor one whole number.
    """
    if isinstance(step, (int, np.integer)):
        return tf.constant(whole("first_step", step, 0, 2**31 - 1), tf.int64)
    return _one_number("first_step", step)


def _one_number(name: str, value: Any) -> Any:
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_integer or tensor.shape.num_elements() not in (None, 1):
        raise ValueError(
            f"{name} must be one whole number; got {tensor.dtype.name} of shape {tensor.shape}"
        )
    return tf.cast(tensor, tf.int64)


def words32(seed: Any) -> Any:
    """An int32 tensor `[2]` with a seed's words, the low one first; such a tensor is taken as it
    is. On an IPU a seed must come in words, for it has no int64.

    Raises as word64.
    """
    if isinstance(seed, (int, np.integer)):
        return tf.constant(np.array(key_of(seed), np.uint32).view(np.int32))
    if seed.dtype == tf.int32 and seed.shape.as_list() == [2]:
        return seed
    return tf.bitcast(word64(seed), tf.int32)
