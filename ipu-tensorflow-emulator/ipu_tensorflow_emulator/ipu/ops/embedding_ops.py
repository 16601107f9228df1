"""`ipu.embedding_ops`: rows of tables."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf


def embedding_lookup(
    params: Any,
    ids: Any,
    name: Optional[str] = None,
    serialization_factor: int = 1,
    indices_are_sorted: bool = False,
) -> Any:
    """Return rows of a table. Raises ValueError if the factor does not divide the rows."""
    rows = params.shape[0]
    if serialization_factor < 1 or (rows and rows % serialization_factor):
        raise ValueError(
            f"serialization_factor ({serialization_factor}) must divide the rows of params ({rows})"
        )
    return tf.gather(params, ids, name=name)


def create_host_embedding(*_: Any, **__: Any) -> Any:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        "create_host_embedding is not emulated. Use embedding_lookup() with a variable"
    )
