"""Constants of neurons: one number for a whole layer, or a float array `[neurons]`."""

from __future__ import annotations

from typing import Union

import numpy as np

PerNeuron = Union[float, np.ndarray]

_LARGEST = float(np.finfo(np.float32).max)
NEVER = _LARGEST  # a threshold that no membrane reaches


def per_neuron(value: PerNeuron, neurons: int, name: str) -> np.ndarray:
    """Return a constant as a float64 array `[neurons]`.

    Raises ValueError if it is neither one number nor one per neuron, or not finite in float32.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be one number or {neurons}; got {value!r}") from error
    if array.shape not in ((), (neurons,)):
        raise ValueError(f"{name} must be one number or shape ({neurons},); got {array.shape}")
    if not (np.abs(array) <= _LARGEST).all():
        raise ValueError(f"{name} must be finite, also as float32")
    return np.full(neurons, array)


def current_scale(decay: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the factor of the current that enters the membrane, float64 `[neurons]`."""
    return np.where(decay == 1, gain, gain * (1 - decay))


def scale_by_decay(decay: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the derivative of `current_scale` with respect to the decay."""
    return np.where(decay == 1, 0.0, -gain)
