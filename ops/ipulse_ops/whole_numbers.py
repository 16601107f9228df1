"""Ids and counts of any type as int32."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def whole_numbers(name: str, numbers: Any) -> Any:
    """An int32 tensor of the same numbers, whatever type they have.

    What is no int32, as 2.5, NaN or 2^40, becomes a number that every op refuses with its place,
    where it would look at it; nothing is rounded or wraps around.

    Raises ValueError if they are no numbers at all.
    """
    numbers = tf.convert_to_tensor(numbers)
    dtype = numbers.dtype
    if dtype.is_floating:
        found = tf.cast(numbers, tf.int32)
        return tf.where(tf.cast(found, dtype) == numbers, found, -1)
    if not dtype.is_integer:
        raise ValueError(f"{name} must be whole numbers; got {dtype.name}")
    if dtype.size == 8 or dtype == tf.uint32:
        numbers = tf.clip_by_value(tf.cast(numbers, tf.int64), -1, tf.int32.max)
    return tf.cast(numbers, tf.int32)
