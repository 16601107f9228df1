"""Converts ids and counts to types that the ops read."""

from __future__ import annotations

from typing import Any, Tuple

import tensorflow as tf

from ipulse_ops.validation import to_int32

_IDS = (tf.float32, tf.int32, tf.int64, tf.uint16)
_COUNTS = (tf.float32, tf.int32, tf.int64)


def spike_tensors(ids: Any, counts: Any) -> Tuple[Any, Any]:
    """Return both as tensors. Types that no op reads become int32, which carries no gradient.

    Raises ValueError if they are not numeric.
    """
    return _readable("ids", ids, _IDS), _readable("counts", counts, _COUNTS)


def _readable(name: str, numbers: Any, types: Tuple[Any, ...]) -> Any:
    if numbers is None:
        raise ValueError(f"{name} must be a tensor; got None")
    numbers = tf.convert_to_tensor(numbers)
    return numbers if numbers.dtype in types else to_int32(name, numbers)
