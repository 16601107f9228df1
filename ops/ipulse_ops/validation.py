"""Checks of arguments: each raises ValueError with the argument's name."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np


def whole(name: str, value: Any, least: int = 1, most: Optional[int] = None) -> int:
    """Return the value as an int.

    Raises ValueError unless it is a whole number, and no bool, from `least` to `most`.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number; got {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{name} must be {least} to {most}; got {value}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return the value as a bool. Raises ValueError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def choice(name: str, value: Any, choices: Tuple[str, ...]) -> str:
    """Return the value. Raises ValueError if it is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; got {value}")
    return value


def instance(name: str, value: Any, *kinds: type) -> None:
    """Raise ValueError unless the value is an instance of one of the kinds."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be {names}; got {value!r}")


def to_int32(name: str, numbers: Any) -> Any:
    """Convert a tensor of ids or counts of any numeric type to int32.

    A value that int32 cannot represent, such as 2.5, NaN or 2^40, becomes a number out of range,
    which every op that reads it refuses with its index. No value is rounded or wraps around.

    Raises ValueError if the tensor's type is not numeric.
    """
    import tensorflow as tf  # here, because the reference and this module need NumPy alone

    numbers = tf.convert_to_tensor(numbers)
    dtype = numbers.dtype
    if dtype.is_floating:
        converted = tf.cast(numbers, tf.int32)
        return tf.where(tf.cast(converted, dtype) == numbers, converted, -1)
    if not dtype.is_integer:
        raise ValueError(f"{name} must be whole numbers; got {dtype.name}")
    if dtype.size == 8 or dtype == tf.uint32:
        numbers = tf.clip_by_value(tf.cast(numbers, tf.int64), -1, tf.int32.max)
    return tf.cast(numbers, tf.int32)
