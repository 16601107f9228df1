"""Converts seeds and steps, Python numbers or tensors, to the tensors that the ops read."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ipulse_ops.philox import key_of
from ipulse_ops.validation import whole


def word64(seed: Any) -> Any:
    """Return an int64 scalar with the 64 bits of a seed.

    Raises ValueError unless the seed is a number of 0 to 2^64 - 1 or an integer scalar tensor.
    """
    if isinstance(seed, (int, np.integer)):
        key_of(seed)
        seed = int(seed)
        return tf.constant(seed - 2**64 if seed >= 2**63 else seed, tf.int64)
    return _one_number("seed", seed)


def first_step_word(step: Any) -> Any:
    """Return a step as an int64 scalar.

    Raises ValueError unless it is a number of 0 to 2^31 - 1 or an integer scalar tensor.
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
    """Return the two words of a seed as int32 `[2]`, the low one first.

    A tensor int32 `[2]` is returned unchanged: an IPU has no int64.

    Raises what word64 raises.
    """
    if isinstance(seed, (int, np.integer)):
        return tf.constant(np.array(key_of(seed), np.uint32).view(np.int32))
    if seed.dtype == tf.int32 and seed.shape.as_list() == [2]:
        return seed
    return tf.bitcast(word64(seed), tf.int32)
