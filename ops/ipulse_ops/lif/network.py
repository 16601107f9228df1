"""The description of a network of LIF layers, for the reference, the kernels and Keras.

The equations are in ipulse_ops.lif.reference.network_pass. A constant is one number for the whole
layer or a float array `[neurons]`. Times are in steps; membranes and thresholds have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple, Union

import numpy as np

from ipulse_ops.lif.connection_delays import MAX_TAPS, ConnectionDelays
from ipulse_ops.reference.select_spikes import POLICIES
from ipulse_ops.surrogate import SURROGATES, Surrogate
from ipulse_ops.surrogate import SuperSpike as SuperSpike
from ipulse_ops.validation import choice, flag, instance, whole

PerNeuron = Union[float, np.ndarray]

RESETS = ("zero", "subtract", "none")
MAX_DELAY = 65_535
MAX_TRUNCATE = 2**31 - 1
RESET_GRADIENTS = ("mask", "term", "none")

_LARGEST = float(np.finfo(np.float32).max)
NEVER = _LARGEST  # a threshold that no membrane reaches


@dataclass(frozen=True)
class LIF:
    """One layer of leaky integrate-and-fire neurons.

    neurons: number of neurons.
    decay: factor of the membrane from one step to the next, at least 0 and at most 1. With 1 the
        neuron integrates and fires: its membrane keeps everything.
    threshold: a neuron spikes where its membrane `u > threshold`.
    second_threshold: a neuron carries gradient where `u > second_threshold`; None for everywhere.
    capacity: number of slots per sample and step, that is, of spikes the layer can send. The slots
        hold the ids of spiking neurons, then of gradient-only neurons, each ascending. None for
        one slot per neuron.
    gain: the input current is scaled by `gain * (1 - decay)`, and by `gain` where decay is 1.
    recurrent: True feeds the layer's spikes of the step before back through a weight matrix.
    bias: True adds a trained current per neuron at every step.
    synapse_decay: decay of a synaptic current between input and membrane, as in NIR's CubaLIF
        (where `w_in` is a part of `gain` here); None for no such state.
    policy: choice of the neurons that fill the slots if there are too few, see
        ipulse_ops.reference.select_spikes.
    adaptation_strength: rise of both thresholds with each spike of the neuron itself, at least 0;
        None for thresholds that do not adapt. Set together with `adaptation_decay`.
    adaptation_decay: factor of that rise from one step to the next, at least 0 and less than 1.
    detach_adaptation: True takes the spikes that raise the thresholds for constant in the gradient.
    dropout: probability, at least 0 and less than 1, with which the layer ignores a neuron of the
        layer before (or an input channel) during a whole training sample; see
        ipulse_ops.reference.dropout.
    residual: numbers, from 0, of hidden layers before the previous one, with as many neurons as
        that has. Their spikes are added to its spikes: the layer receives the sum.
    delays: how long the spikes of each synapse, or of each sender, take to the layer, in place of
        the network's delay; the weights then have an array of delays. None for the network's.

    Raises ValueError if a field is out of range.
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
    adaptation_strength: Optional[PerNeuron] = None
    adaptation_decay: Optional[PerNeuron] = None
    detach_adaptation: bool = False
    dropout: float = 0.0
    residual: Tuple[int, ...] = ()
    delays: Optional[ConnectionDelays] = None

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
        _check_adaptation(self)

    @property
    def adapts(self) -> bool:
        """True if the thresholds rise with the neurons' own spikes."""
        return self.adaptation_strength is not None

    @property
    def slots(self) -> int:
        """The number of slots per sample and step: the capacity, or one per neuron."""
        return self.neurons if self.capacity is None else self.capacity


@dataclass(frozen=True)
class LeakyReadout:
    """Leaky integrators that never spike and are never reset, with the fields of LIF.

    Raises ValueError if a field is out of range.
    """

    neurons: int
    decay: PerNeuron = 0.95
    gain: PerNeuron = 10.0
    bias: bool = False
    synapse_decay: Optional[PerNeuron] = None
    dropout: float = 0.0
    residual: Tuple[int, ...] = ()
    delays: Optional[ConnectionDelays] = None

    def __post_init__(self) -> None:
        _check_integrator(self)


Layer = Union[LIF, LeakyReadout]


@dataclass(frozen=True)
class Network:
    """A feed-forward network: input channels, hidden LIF layers and a readout.

    inputs: number of input channels.
    layers: the hidden layers.
    readout: a leaky readout, or LIF neurons, which need no hidden layer.
    reset: effect of a spike on the membrane before the next step: "zero" sets it to 0, "subtract"
        subtracts the threshold, "none" leaves it.
    reset_on: "state" resets every neuron with `u > threshold`, even without a slot; "emission"
        resets a neuron only if its spike has a slot.
    reset_gradient: what is constant in the gradient of the reset: "mask", the spike; "term", the
        whole reset; "none", nothing.
    delay: steps, 0 to 65,535, that a spike takes from layer to layer and from the last layer to the
        readout, while input spikes are not delayed; or a tuple with the steps that spikes take to
        each layer and the readout. Recurrent spikes always take one step.
    surrogate: derivative of a spike with respect to the membrane.
    truncate: steps of truncated backpropagation through time: the gradient does not pass from a
        step that is a multiple of it to the step before; None: it passes through all. The delay
        must be 0.

    Raises ValueError if a field is out of range.
    """

    inputs: int
    layers: Tuple[LIF, ...]
    readout: Layer
    reset: str = "zero"
    reset_gradient: str = "mask"
    delay: Union[int, Tuple[int, ...]] = 0
    surrogate: Surrogate = SuperSpike()  # noqa: RUF009 (frozen)
    reset_on: str = "state"
    truncate: Optional[int] = None

    def __post_init__(self) -> None:
        whole("inputs", self.inputs)
        for number, layer in enumerate(self.layers):
            instance(f"layers[{number}]", layer, LIF)
        instance("readout", self.readout, LIF, LeakyReadout)
        instance("surrogate", self.surrogate, *SURROGATES.values())
        if not self.layers and not isinstance(self.readout, LIF):
            raise ValueError("a network needs at least one hidden layer, or a readout that spikes")
        choice("reset", self.reset, RESETS)
        choice("reset_gradient", self.reset_gradient, RESET_GRADIENTS)
        choice("reset_on", self.reset_on, ("state", "emission"))
        if isinstance(self.delay, tuple) and len(self.delay) != len(self.sizes) - 1:
            raise ValueError(
                f"delay must be one number, or one for each of {len(self.sizes) - 1} layers (the "
                f"readout is the last); got {self.delay!r}"
            )
        if self.truncate is not None:
            whole("truncate", self.truncate, 1, MAX_TRUNCATE)
            if any(self.delays) or self.has_delays:
                raise ValueError("truncate needs a delay of 0")
        for steps in self.delays:
            whole("delay", steps, 0, MAX_DELAY)
        _check_residuals(self)
        _check_delays(self)

    @property
    def sizes(self) -> Tuple[int, ...]:
        """The widths from input to readout; layer l has weights `[sizes[l], sizes[l + 1]]`."""
        return (self.inputs, *(layer.neurons for layer in self.layers), self.readout.neurons)

    @property
    def delays(self) -> Tuple[int, ...]:
        """The steps that spikes take to each layer and the readout; 0 to one with `delays`."""
        delays = self.delay
        if not isinstance(delays, tuple):
            delays = (0, *[delays] * len(self.layers))
        layers = (*self.layers, self.readout)
        return tuple(0 if layer.delays else delay for layer, delay in zip(layers, delays))

    @property
    def spiking(self) -> Tuple[LIF, ...]:
        """The layers that spike: the hidden layers, and the readout if it spikes."""
        return (*self.layers, self.readout) if isinstance(self.readout, LIF) else self.layers

    @property
    def has_dropout(self) -> bool:
        """True if a layer or the readout ignores senders in training."""
        return any(layer.dropout for layer in (*self.layers, self.readout))

    @property
    def has_residual(self) -> bool:
        """True if a layer or the readout receives the spikes of several layers."""
        return any(layer.residual for layer in (*self.layers, self.readout))

    @property
    def has_delays(self) -> bool:
        """True if the connections to a layer or the readout have delays of their own."""
        return any(layer.delays for layer in (*self.layers, self.readout))

    def senders(self, number: int) -> Tuple[int, ...]:
        """Return the layers that send spikes to layer `number`; -1 is the input."""
        return (number - 1, *(*self.layers, self.readout)[number].residual)

    def without_dropout(self) -> Network:
        """Return the network that is evaluated."""
        layers = tuple(replace(layer, dropout=0.0) for layer in self.layers)
        return replace(self, layers=layers, readout=replace(self.readout, dropout=0.0))


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


def _check_integrator(layer: Layer) -> None:
    whole("neurons", layer.neurons)
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    if not np.all((decay >= 0) & (decay <= 1)):
        raise ValueError("decay must be at least 0 and at most 1")
    if layer.synapse_decay is not None:
        decay = per_neuron(layer.synapse_decay, layer.neurons, "synapse_decay")
        if not np.all((decay >= 0) & (decay < 1)):
            raise ValueError("synapse_decay must be at least 0 and less than 1")
    per_neuron(layer.gain, layer.neurons, "gain")
    flag("bias", layer.bias)
    object.__setattr__(layer, "residual", tuple(layer.residual))  # a list in configurations
    delays: Any = layer.delays
    if isinstance(delays, dict):  # in configurations
        delays = ConnectionDelays(**delays)
        object.__setattr__(layer, "delays", delays)
    if delays is not None:
        instance("delays", delays, ConnectionDelays)
    if isinstance(layer.dropout, bool) or not 0 <= layer.dropout < 1:
        raise ValueError(f"dropout must be at least 0 and less than 1; got {layer.dropout!r}")


def _check_residuals(network: Network) -> None:
    layers = (*network.layers, network.readout)
    for number, layer in enumerate(layers):
        name = f"layers[{number}]" if number < len(network.layers) else "readout"
        for index, source in enumerate(layer.residual):
            if source not in range(number - 1) or source in layer.residual[:index]:
                raise ValueError(
                    f"residual of {name} must list different layers before layers[{number - 1}]; "
                    f"got {layer.residual!r}"
                )
            if layers[source].neurons != layers[number - 1].neurons:
                raise ValueError(
                    f"residual of {name}: layers[{source}] has {layers[source].neurons} neurons, "
                    f"and layers[{number - 1}] has {layers[number - 1].neurons}"
                )


def _check_delays(network: Network) -> None:
    for number, layer in enumerate((*network.layers, network.readout)):
        if layer.delays and layer.delays.taps * network.sizes[number] > MAX_TAPS:
            raise ValueError(
                f"layer {number + 1} has {network.sizes[number]:,} senders with up to "
                f"{layer.delays.taps:,} delays each; the product must be at most {MAX_TAPS:,}"
            )


def _check_adaptation(layer: LIF) -> None:
    flag("detach_adaptation", layer.detach_adaptation)
    if layer.adaptation_strength is None and layer.adaptation_decay is None:
        if layer.detach_adaptation:
            raise ValueError("detach_adaptation needs an adaptation_strength")
        return
    if layer.adaptation_strength is None or layer.adaptation_decay is None:
        raise ValueError("adaptation_strength and adaptation_decay must be set together")
    if not np.all(per_neuron(layer.adaptation_strength, layer.neurons, "adaptation_strength") >= 0):
        raise ValueError("adaptation_strength must be at least 0")
    decay = per_neuron(layer.adaptation_decay, layer.neurons, "adaptation_decay")
    if not np.all((decay >= 0) & (decay < 1)):
        raise ValueError("adaptation_decay must be at least 0 and less than 1")
