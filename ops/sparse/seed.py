"""Seeds and steps as the ops take them: numbers of Python, or tensors that change per call."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ops.philox import key_of


def word64(seed: Any) -> Any:
    """An int64 scalar with the 64 bits of a seed; a tensor is taken as it is.

    Raises ValueError unless a number is from 0 to 2^64 - 1.
    """
    if isinstance(seed, int):
        key_of(seed)
        return tf.constant(seed - 2**64 if seed >= 2**63 else seed, tf.int64)
    return tf.cast(seed, tf.int64)
