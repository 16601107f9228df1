"""What a network did over a whole sequence, and the gradients of a loss by what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np


@dataclass(frozen=True)
class LayerTrace:
    """What one layer of LIF neurons did. `backward` reads all but `dropped`."""

    u: np.ndarray  # float64 [time, batch, neurons], after the update, before the reset
    reset: np.ndarray  # bool [time, batch, neurons], r of reference.py
    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, spikes and gradient-only neurons
    surrogate: np.ndarray  # float64 [time, batch, slots], 0 behind the last filled slot
    dropped: np.ndarray  # int32 [time, batch]: spiking neurons without a slot


@dataclass(frozen=True)
class Trace:
    """What a network did over a whole sequence."""

    membrane: np.ndarray  # float64 [time, batch, classes], u of the readout
    layers: Tuple[LayerTrace, ...]  # of the hidden layers, and of the readout if it spikes


@dataclass(frozen=True)
class ConstantGradients:
    """By the constants of one layer, float64 `[neurons]` also where one number is shared.

    None where the layer has no such constant. A second threshold is not among them: no spike and
    no membrane depends on it, so that its gradient is zero whatever the loss.
    """

    decay: np.ndarray  # gain * (1 - decay) included
    threshold: Optional[np.ndarray]
    synapse_decay: Optional[np.ndarray]


@dataclass(frozen=True)
class Gradients:
    """Gradients of a loss."""

    weights: Tuple[np.ndarray, ...]  # float64, as ipulse_ops.lif.weights.weight_shapes says
    inputs: np.ndarray  # float64 [time, batch, slots], by the spikes in the input's slots
    constants: Tuple[ConstantGradients, ...]  # of each layer and the readout
