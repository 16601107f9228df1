"""A network of LIF layers as a value: what the reference, the kernels and the Keras layer share.

The equations are in reference.py; the letters are the field's. A constant is one number for the
whole layer or a float array `[neurons]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple, Union

import numpy as np

from ipulse_ops.reference.select_spikes import POLICIES
from ipulse_ops.surrogate import SURROGATES, Surrogate
from ipulse_ops.surrogate import SuperSpike as SuperSpike
from ipulse_ops.validation import choice, flag, instance, whole

PerNeuron = Union[float, np.ndarray]

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class LIF:
    """One layer of leaky integrate-and-fire neurons.

    A neuron spikes where its membrane `u > threshold`. Gradient flows where
    `u > second_threshold`, everywhere if that is None. `capacity` slots per sample and step hold
    the ids of spiking neurons first and gradient-only neurons after them, each ascending; None
    means one slot per neuron. The input current is scaled by `gain * (1 - decay)`.

    recurrent: the layer's own spikes of the step before come back through a weight matrix.
    bias: a current per neuron at every step, which is a weight too.
    synapse_decay: of a second state, a current that the input fills and the membrane follows, as
        in NIR's CubaLIF (whose `w_in` is a part of `gain` here); None for no such state.
    policy: who gets the slots when there are too few, see
    ipulse_ops.reference.select_spikes.
    """

    neurons: int
    decay: PerNeuron = 0.95
    threshold: PerNeuron = 1.0
    second_threshold: Optional[PerNeuron] = None
    capacity: Optional[int] = None
    gain: PerNeuron = 10.0
    recurrent: bool = False
    bias: bool = False
    synapse_decay: Optional[PerNeuron] = None
    policy: str = "index"

    def __post_init__(self) -> None:
        _check_integrator(self)
        if self.capacity is not None:
            whole("capacity", self.capacity, 1, self.neurons)
        threshold = per_neuron(self.threshold, self.neurons, "threshold")
        if self.second_threshold is not None:
            second = per_neuron(self.second_threshold, self.neurons, "second_threshold")
            if not np.all(second <= threshold):
                raise ValueError("second_threshold must not be above threshold")
        choice("policy", self.policy, POLICIES)
        flag("recurrent", self.recurrent)

    @property
    def slots(self) -> int:
        """Slots per sample and step: the capacity, or one per neuron."""
        return self.neurons if self.capacity is None else self.capacity


@dataclass(frozen=True)
class LeakyReadout:
    """Leaky integrators that never spike and are never reset; the fields are LIF's."""

    neurons: int
    decay: PerNeuron = 0.95
    gain: PerNeuron = 10.0
    bias: bool = False
    synapse_decay: Optional[PerNeuron] = None

    def __post_init__(self) -> None:
        _check_integrator(self)


Layer = Union[LIF, LeakyReadout]


@dataclass(frozen=True)
class Network:
    """`inputs` channels, hidden LIF layers, and a readout: leaky, or LIF neurons that spike too,
    which need no hidden layer.

    reset: what a spike does to the membrane before the next step: "zero", "subtract" its
        threshold, "none".
    reset_on: "state": every neuron with `u > threshold` is reset, also one that found no slot,
        which loses its charge without a spike. "emission": that one keeps its charge, and spikes
        when there is a slot.
    reset_gradient: "mask" holds only the spike in the reset constant, "term" the whole reset,
        "none" nothing.
    delay: steps (0 or 1) that a spike takes from layer to layer, and from the last layer to the
        readout. Input spikes are never delayed; a layer's own spikes always take one step.
    """

    inputs: int
    layers: Tuple[LIF, ...]
    readout: Layer
    reset: str = "zero"
    reset_gradient: str = "mask"
    delay: int = 0
    surrogate: Surrogate = SuperSpike()  # noqa: RUF009 (frozen)
    reset_on: str = "state"

    def __post_init__(self) -> None:
        whole("inputs", self.inputs)
        for number, layer in enumerate(self.layers):
            instance(f"layers[{number}]", layer, LIF)
        instance("readout", self.readout, LIF, LeakyReadout)
        instance("surrogate", self.surrogate, *SURROGATES.values())
        if not self.layers and not isinstance(self.readout, LIF):
            raise ValueError("a network needs at least one hidden layer, or a readout that spikes")
        choice("reset", self.reset, ("zero", "subtract", "none"))
        choice("reset_gradient", self.reset_gradient, ("mask", "term", "none"))
        choice("reset_on", self.reset_on, ("state", "emission"))
        if self.delay not in (0, 1):
            raise ValueError(f"delay must be 0 or 1; got {self.delay!r}")

    @property
    def sizes(self) -> Tuple[int, ...]:
        """Channels from input to readout; layer l has input weights `[sizes[l], sizes[l + 1]]`."""
        return (self.inputs, *(layer.neurons for layer in self.layers), self.readout.neurons)

    @property
    def spiking(self) -> Tuple[LIF, ...]:
        """The layers that spike: the hidden ones, and the readout if it does."""
        return (*self.layers, self.readout) if isinstance(self.readout, LIF) else self.layers


def per_neuron(value: PerNeuron, neurons: int, name: str) -> np.ndarray:
    """A constant as a float64 array `[neurons]`.

    Raises ValueError if it is neither one number nor one per neuron, or not finite as float32,
    which the kernels have.
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


def _check_integrator(layer: Layer) -> None:
    whole("neurons", layer.neurons)
    for name, value in (("decay", layer.decay), ("synapse_decay", layer.synapse_decay)):
        if value is not None:
            decay = per_neuron(value, layer.neurons, name)
            if not np.all((decay >= 0) & (decay < 1)):
                raise ValueError(f"{name} must be at least 0 and less than 1")
    per_neuron(layer.gain, layer.neurons, "gain")
    flag("bias", layer.bias)
