"""The description of a network of LIF layers, for the reference, the kernels and Keras.

The equations are in ipulse_ops.lif.reference.network_pass. A constant is one number for the whole
layer or a float array `[neurons]`. Times are in steps; membranes and thresholds have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

from ipulse_ops.deprecated import former_name
from ipulse_ops.lif.connection_delays import MAX_TAPS
from ipulse_ops.lif.layers import LIF as LIF
from ipulse_ops.lif.layers import Layer as Layer
from ipulse_ops.lif.layers import LeakyReadout as LeakyReadout
from ipulse_ops.surrogate import SURROGATES, Surrogate
from ipulse_ops.surrogate import SuperSpike as SuperSpike
from ipulse_ops.validation import choice, instance, whole

RESETS = ("zero", "subtract", "none")
MAX_DELAY = 65_535
MAX_TRUNCATE = 2**31 - 1
RESET_GRADIENTS = ("mask", "term", "none")


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
    surrogate: Surrogate = SuperSpike()
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

    @property
    def runs_layers_alone(self) -> bool:
        """True if emulated IPUs run each layer as a program of its own."""
        apart = self.has_dropout or self.has_residual or self.has_delays
        return apart or self.delay not in (0, 1)

    def senders(self, number: int) -> Tuple[int, ...]:
        """Return the layers that send spikes to layer `number`; -1 is the input."""
        return (number - 1, *(*self.layers, self.readout)[number].residual)

    def without_dropout(self) -> Network:
        """Return the network that is evaluated."""
        layers = tuple(replace(layer, dropout=0.0) for layer in self.layers)
        return replace(self, layers=layers, readout=replace(self.readout, dropout=0.0))


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


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return former_name(__name__, name)
