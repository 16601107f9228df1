"""A feed-forward LIF network as a value: what the reference, the kernels and the Keras layer share.

The equations are in reference.py; the letters are the field's. A constant is one number for the
whole layer or a float array `[neurons]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple, Union

import numpy as np

PerNeuron = Union[float, np.ndarray]


@dataclass(frozen=True)
class SuperSpike:
    """The surrogate `1 / (slope |u - threshold| + 1)^2` of the spike's derivative."""

    slope: float = 10.0

    def __post_init__(self) -> None:
        if not self.slope > 0:
            raise ValueError(f"slope must be greater than 0; got {self.slope}")


@dataclass(frozen=True)
class LIF:
    """One layer of leaky integrate-and-fire neurons.

    A neuron spikes where its membrane `u > threshold`. Gradient flows where
    `u > second_threshold`, everywhere if that is None. `capacity` slots per sample and step hold
    the ids of spiking neurons first and gradient-only neurons after them, each ascending; None
    means one slot per neuron. The input current is scaled by `gain * (1 - decay)`.
    """

    neurons: int
    decay: PerNeuron = 0.95
    threshold: PerNeuron = 1.0
    second_threshold: Optional[PerNeuron] = None
    capacity: Optional[int] = None
    gain: PerNeuron = 10.0

    def __post_init__(self) -> None:
        if self.neurons < 1:
            raise ValueError(f"neurons must be at least 1; got {self.neurons}")
        if self.capacity is not None and not 1 <= self.capacity <= self.neurons:
            raise ValueError(f"capacity must be 1 to {self.neurons}; got {self.capacity}")
        decay = per_neuron(self.decay, self.neurons, "decay")
        if not np.all((decay >= 0) & (decay < 1)):
            raise ValueError("decay must be at least 0 and less than 1")
        threshold = per_neuron(self.threshold, self.neurons, "threshold")
        per_neuron(self.gain, self.neurons, "gain")
        if self.second_threshold is not None:
            second = per_neuron(self.second_threshold, self.neurons, "second_threshold")
            if not np.all(second <= threshold):
                raise ValueError("second_threshold must not be above threshold")

    @property
    def slots(self) -> int:
        """Slots per sample and step: the capacity, or one per neuron."""
        return self.neurons if self.capacity is None else self.capacity


@dataclass(frozen=True)
class LeakyReadout:
    """Leaky integrators that never spike and are never reset."""

    neurons: int
    decay: PerNeuron = 0.95
    gain: PerNeuron = 10.0

    def __post_init__(self) -> None:
        if self.neurons < 1:
            raise ValueError(f"neurons must be at least 1; got {self.neurons}")
        decay = per_neuron(self.decay, self.neurons, "decay")
        if not np.all((decay >= 0) & (decay < 1)):
            raise ValueError("decay must be at least 0 and less than 1")
        per_neuron(self.gain, self.neurons, "gain")


@dataclass(frozen=True)
class Network:
    """`inputs` channels, hidden LIF layers, a leaky readout.

    reset: "zero", before the next step, decided by the state (`u > threshold`), so that a spike
        that found no slot resets its neuron all the same.
    reset_gradient: "mask" holds only the spike in the reset constant, "term" the whole reset.
    delay: steps (0 or 1) that a spike takes from layer to layer, and from the last layer to the
        readout. Input spikes are never delayed.
    """

    inputs: int
    layers: Tuple[LIF, ...]
    readout: LeakyReadout
    reset: str = "zero"
    reset_gradient: str = "mask"
    delay: int = 0
    surrogate: SuperSpike = SuperSpike()

    def __post_init__(self) -> None:
        if self.inputs < 1:
            raise ValueError(f"inputs must be at least 1; got {self.inputs}")
        if not self.layers:
            raise ValueError("a network needs at least one hidden layer")
        if self.reset != "zero":
            raise ValueError(f"reset must be zero; got {self.reset}")
        if self.reset_gradient not in ("mask", "term"):
            raise ValueError(f"reset_gradient must be mask or term; got {self.reset_gradient}")
        if self.delay not in (0, 1):
            raise ValueError(f"delay must be 0 or 1; got {self.delay}")

    @property
    def sizes(self) -> Tuple[int, ...]:
        """Channels from input to readout; weights l have shape `[sizes[l], sizes[l + 1]]`."""
        return (self.inputs, *(layer.neurons for layer in self.layers), self.readout.neurons)


def per_neuron(value: PerNeuron, neurons: int, name: str) -> np.ndarray:
    """A constant as a float64 array `[neurons]`.

    Raises ValueError if it is neither one number nor one per neuron, or not finite.
    """
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (neurons,)):
        raise ValueError(f"{name} must be one number or shape ({neurons},); got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite")
    return np.broadcast_to(array, (neurons,))
