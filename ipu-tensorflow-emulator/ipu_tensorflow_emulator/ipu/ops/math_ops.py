"""`ipu.math_ops`: matrix products."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf


def serialized_matmul(
    a: Any,
    b: Any,
    serialization_factor: int,
    serialization_dimension: str,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: Optional[str] = None,
) -> Any:
    """Return a matrix product. Raises ValueError for an unknown dimension."""
    known = ("a_columns", "a_rows_b_columns", "b_rows")
    if serialization_dimension not in known:
        raise ValueError(
            f"serialization_dimension is one of {', '.join(known)}; it is "
            f"{serialization_dimension!r}"
        )
    return tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)
