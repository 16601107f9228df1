"""The constants of a layer in the types of the kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Dict, Optional, Tuple

import numpy as np

from ipulse_core.neurons.constants import IN_KERNELS, Bounds
from ipulse_ops.lif.network import Layer
from ipulse_ops.lif.neuron_constants import current_scale, per_neuron

MAX_DECAY = float(np.nextafter(np.float32(1), np.float32(0)))  # the largest below 1


class LayerConstants(SimpleNamespace):
    """The constants of a layer for the kernels, float32 `[neurons]`, by the names of their arrays.

    Each is rounded once, from float64; a decay below 1 that would become 1 is MAX_DECAY. A constant
    that the layer does not have is None. `scale` is explained at current_scale.
    """


def constants(layer: Layer) -> LayerConstants:
    """Convert the constants of a layer or readout."""
    found: Dict[str, Optional[np.ndarray]] = {}
    for row in IN_KERNELS:
        value = getattr(layer, row.name, None)
        found[row.array] = None
        if value is not None:
            exact = per_neuron(value, layer.neurons, row.name)
            if row.name == "gain":
                decay = per_neuron(layer.decay, layer.neurons, "decay")
                exact = current_scale(decay, exact)
            found[row.array] = _rounded(exact, row.bounds)
    return LayerConstants(**found)


def trained_bounds(bounds: Bounds) -> Tuple[float, float]:
    """Return the smallest and the largest float32 of a trained constant, which stays below 1."""
    largest = float(np.finfo(np.float32).max)
    most = MAX_DECAY if 1 in (bounds.most, bounds.below) else largest
    return (-largest if bounds.least is None else bounds.least), most


def _rounded(exact: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Round to float32; only a decay of exactly 1 stays 1."""
    narrow = exact.astype(np.float32)
    if bounds.least == 0 and 1 in (bounds.most, bounds.below):
        narrow = np.minimum(narrow, np.float32(MAX_DECAY))
        return np.where(exact == 1, np.float32(1), narrow)
    return narrow
