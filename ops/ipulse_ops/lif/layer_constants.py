"""The constants of a layer in the types of the kernels."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ipulse_ops.lif.network import LIF, Layer
from ipulse_ops.lif.neuron_constants import current_scale, per_neuron

MAX_DECAY = float(np.nextafter(np.float32(1), np.float32(0)))  # the largest below 1


class LayerConstants(NamedTuple):
    """The constants of a layer for the kernels, float32 `[neurons]`.

    Each is rounded once, from float64; a decay below 1 that would become 1 is MAX_DECAY. A constant
    that the layer does not have is None.
    """

    decay: np.ndarray
    scale: np.ndarray  # see current_scale
    synapse_decay: Optional[np.ndarray]
    threshold: Optional[np.ndarray]
    second_threshold: Optional[np.ndarray]
    adaptation_decay: Optional[np.ndarray]
    adaptation_strength: Optional[np.ndarray]


def constants(layer: Layer) -> LayerConstants:
    """Convert the constants of a layer or readout."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    scale = current_scale(decay, per_neuron(layer.gain, layer.neurons, "gain"))
    synapse_decay = threshold = second = adaptation_decay = strength = None
    if layer.synapse_decay is not None:
        synapse = per_neuron(layer.synapse_decay, layer.neurons, "synapse_decay")
        synapse_decay = _rounded_decay(synapse)
    if isinstance(layer, LIF):
        threshold = _float32(layer.threshold, layer.neurons, "threshold")
        if layer.second_threshold is not None:
            second = _float32(layer.second_threshold, layer.neurons, "second_threshold")
        if layer.adaptation_strength is not None and layer.adaptation_decay is not None:
            strength = _float32(layer.adaptation_strength, layer.neurons, "adaptation_strength")
            rate = per_neuron(layer.adaptation_decay, layer.neurons, "adaptation_decay")
            adaptation_decay = _rounded_decay(rate)
    return LayerConstants(
        decay=_rounded_decay(decay),
        scale=scale.astype(np.float32),
        synapse_decay=synapse_decay,
        threshold=threshold,
        second_threshold=second,
        adaptation_decay=adaptation_decay,
        adaptation_strength=strength,
    )


def _rounded_decay(decay: np.ndarray) -> np.ndarray:
    """Round to float32; only a decay of exactly 1 stays 1."""
    narrow = np.minimum(decay.astype(np.float32), np.float32(MAX_DECAY))
    return np.where(decay == 1, np.float32(1), narrow)


def _float32(value: Any, neurons: int, name: str) -> np.ndarray:
    return per_neuron(value, neurons, name).astype(np.float32)
