"""The tensors that a program with programs/network_fixture.h prints."""

from __future__ import annotations

from typing import Dict

import numpy as np

Tensors = Dict[str, np.ndarray]


def printed_tensors(output: str) -> Tensors:
    """Return the tensors by name, in float64."""
    tensors = {}
    for line in output.splitlines():
        head, colon, values = line.partition(":")
        name, _, shape = head.partition(" ")
        if colon and shape.startswith("{"):
            sizes = [int(size) for size in shape.strip("{}").split(",")]
            tensors[name] = np.array(values.split(), dtype=np.float64).reshape(sizes)
    return tensors
