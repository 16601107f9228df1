"""Ids and counts as the ops read them."""

from __future__ import annotations

from typing import Any, Tuple

import tensorflow as tf

from ipulse_ops.validation import to_int32

_IDS = (tf.float32, tf.int32, tf.int64, tf.uint16)
_COUNTS = (tf.float32, tf.int32, tf.int64)


def spike_tensors(ids: Any, counts: Any) -> Tuple[Any, Any]:
    """Both as tensors; of a type that no op reads, as whole numbers, which get no gradient.

    Raises ValueError if they are no numbers.
    """
    return _readable("ids", ids, _IDS), _readable("counts", counts, _COUNTS)


def _readable(name: str, numbers: Any, types: Tuple[Any, ...]) -> Any:
    if numbers is None:
        raise ValueError(f"{name} must be a tensor; got None")
    numbers = tf.convert_to_tensor(numbers)
    return numbers if numbers.dtype in types else to_int32(name, numbers)
