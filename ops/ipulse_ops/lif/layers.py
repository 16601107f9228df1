"""The layers of a network: LIF neurons, and readouts that never spike.

Times are in steps; membranes and thresholds have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

import numpy as np

from ipulse_core.neurons.constants import constants_of
from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.neuron_constants import PerNeuron, per_neuron
from ipulse_ops.reference.select_spikes import POLICIES
from ipulse_ops.validation import choice, flag, instance, whole


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


def _check_integrator(layer: Layer) -> None:
    whole("neurons", layer.neurons)
    for row in constants_of(isinstance(layer, LIF)):
        value = getattr(layer, row.name)
        if value is None and row.is_optional:
            continue
        if not np.all(row.bounds.hold(per_neuron(value, layer.neurons, row.name))):
            raise ValueError(f"{row.name} must be {row.bounds}")
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


def _check_adaptation(layer: LIF) -> None:
    flag("detach_adaptation", layer.detach_adaptation)
    if layer.adaptation_strength is None and layer.adaptation_decay is None:
        if layer.detach_adaptation:
            raise ValueError("detach_adaptation needs an adaptation_strength")
        return
    if layer.adaptation_strength is None or layer.adaptation_decay is None:
        raise ValueError("adaptation_strength and adaptation_decay must be set together")
