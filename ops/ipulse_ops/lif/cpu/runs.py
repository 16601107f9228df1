"""Results of the C++ kernels on NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np

from ipulse_ops.lif.reference.trace import ConstantGradients


@dataclass(frozen=True)
class LayerRun:
    """Results of one spiking layer."""

    u: Optional[np.ndarray]  # float32 [time, batch, neurons], before the reset, if requested
    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, filled slots
    dropped: np.ndarray  # int32 [time, batch]: spikes beyond the capacity
    bits: np.ndarray  # uint32, for `backward`
    membranes: np.ndarray  # float32, for `backward`; empty unless membranes are stored


@dataclass(frozen=True)
class NetworkRun:
    """Results of a network over a whole sequence."""

    membrane: np.ndarray  # float32 [time, batch, classes], u of the readout
    layers: Tuple[LayerRun, ...]  # of the hidden layers, and of the readout if it spikes


@dataclass(frozen=True)
class KernelGradients:
    """Gradients of a loss, None where not requested."""

    weights: Tuple[np.ndarray, ...]  # float32, as ipulse_ops.lif.weights.weight_shapes says
    inputs: Optional[np.ndarray]  # float32 [time, batch, slots], dL/ds of the input slots
    constants: Optional[Tuple[ConstantGradients, ...]]  # float64, per layer and readout
