"""The fields of NIR's nodes as numbers."""

from __future__ import annotations

import numpy as np

from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import NirNode


def numbers(node: NirNode, field: str) -> np.ndarray:
    """Return a field's numbers.

    Raises:
        NirInvalid: the node has no such field, or text in it.
    """
    value = node.fields.get(field)
    if not isinstance(value, np.ndarray):
        raise at_node(node.name, f"a {node.type} needs numbers in {field}")
    return value


def whole_number(node: NirNode, field: str) -> int:
    """Return a field with one number.

    Raises:
        NirInvalid: the node has no such field, or it holds something else.
    """
    value = numbers(node, field)
    if value.size != 1 or value.flat[0] != int(value.flat[0]):
        raise at_node(node.name, f"{field} must be one whole number")
    return int(value.flat[0])
