"""One layer of a network on its way to a NIR graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry, Planes


@dataclass(frozen=True)
class NeuronConstants:
    """The constants of one layer, float64 `[neurons]` or `[filters, height, width]`."""

    decay: np.ndarray
    synapse: Optional[np.ndarray]
    threshold: Optional[np.ndarray]  # None in a leaky readout
    gain: np.ndarray

    def by_output(self, values: np.ndarray) -> np.ndarray:
        """Return one value for each neuron of a vector, or for each filter."""
        first: np.ndarray = values.reshape(len(values), -1)[:, 0]
        return first


@dataclass(frozen=True)
class LayerPlace:
    """Where a layer, or its recurrence, is in the network."""

    name: str  # of its weights
    suffix: str  # of its nodes
    shape: Tuple[int, ...]  # of its neurons
    enters: Optional[Planes]  # None: a vector
    geometry: Optional[ConvGeometry] = None  # of a convolution
    scale: float = 1.0  # of its weights, behind an average pool

    def is_flattened(self, stays_planes: bool) -> bool:
        """Return whether planes become a vector in front of the weights."""
        return self.geometry is None and self.enters is not None and not stays_planes
