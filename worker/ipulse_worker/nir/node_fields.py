"""The fields of NIR's nodes as numbers, and shapes as text."""

from __future__ import annotations

from typing import Tuple

import numpy as np

from ipulse_worker.nir.errors import at_node
from ipulse_worker.nir.hdf5_file import NirNode


def numbers(node: NirNode, field: str) -> np.ndarray:
    """Return a field's numbers.

    Raises:
        NirInvalid: the node has no such field, or text in it.
    """
    value = node.fields.get(field)
    if not isinstance(value, np.ndarray):
        raise at_node(node.name, f"a {node.type} needs numbers in {field}")
    return value


def size_text(shape: Tuple[int, ...]) -> str:
    """Return a shape for a message, such as 2 x 34 x 34."""
    return " x ".join(f"{size:,}" for size in shape) or "one number"
