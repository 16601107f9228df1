"""Results of a network over a whole sequence, and the gradients of a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np


@dataclass(frozen=True)
class LayerTrace:
    """Results of one layer of LIF neurons. `backward` reads all but `dropped`."""

    u: np.ndarray  # float64 [time, batch, neurons], after the update, before the reset
    reset: np.ndarray  # bool [time, batch, neurons], r of network_pass.py
    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, filled slots
    surrogate: np.ndarray  # float64 [time, batch, slots], 0 after the last filled slot
    dropped: np.ndarray  # int32 [time, batch]: spikes beyond the capacity


@dataclass(frozen=True)
class Trace:
    """Results of a network over a whole sequence."""

    membrane: np.ndarray  # float64 [time, batch, classes], u of the readout
    layers: Tuple[LayerTrace, ...]  # of the hidden layers, and of the readout if it spikes


@dataclass(frozen=True)
class ConstantGradients:
    """Gradients of the constants of one layer, float64 `[neurons]` even for a shared number.

    The gradient of a constant that the layer does not have is None. The second threshold is not
    included: no spike and no membrane depends on it, so that its gradient is zero.
    """

    decay: np.ndarray  # including that through gain * (1 - decay)
    threshold: Optional[np.ndarray]
    synapse_decay: Optional[np.ndarray]
    adaptation_decay: Optional[np.ndarray] = None
    adaptation_strength: Optional[np.ndarray] = None


@dataclass(frozen=True)
class Gradients:
    """Gradients of a loss."""

    weights: Tuple[np.ndarray, ...]  # float64, as ipulse_ops.lif.weights.weight_shapes says
    inputs: np.ndarray  # float64 [time, batch, slots], dL/ds of the input slots
    constants: Tuple[ConstantGradients, ...]  # per layer and readout
