"""The network of an experiment: layers of LIF neurons, a readout, and how they are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Literal, Optional, Tuple

from ipulse.errors import Problem
from ipulse.schema import described


@dataclass(frozen=True)
class LIFLayer:
    """One layer of leaky integrate-and-fire neurons, all with the same constants."""

    neurons: int = described("Neurons in the layer.", ge=1, le=65_535)
    decay: float = described(
        "Share of the membrane kept from step to step, exp(-step / tau_mem).",
        default=0.95,
        ge=0.0,
        lt=1.0,
    )
    threshold: float = described(
        "A neuron spikes where its membrane is above this.", default=1.0, gt=0.0, le=1e6
    )
    second_threshold: Optional[float] = described(
        "Gradient flows only through neurons whose membrane is above this; null: through all.",
        default=None,
        ge=-1e6,
        le=1e6,
    )
    capacity: Optional[int] = described(
        "Slots per sample and step for spiking and gradient-carrying neurons, in index order, "
        "spikes first; what does not fit is dropped and counted. Null: one slot per neuron.",
        default=None,
        ge=1,
        le=65_535,
    )
    gain: float = described(
        "Scales the input current by gain * (1 - decay).", default=10.0, gt=0.0, le=1e4
    )

    def problems(self) -> Iterator[Problem]:
        if self.second_threshold is not None and self.second_threshold > self.threshold:
            yield Problem(
                "/second_threshold", "inconsistent", "must not be above the layer's threshold"
            )
        if self.capacity is not None and self.capacity > self.neurons:
            yield Problem(
                "/capacity", "inconsistent", f"must not be above neurons ({self.neurons})"
            )


@dataclass(frozen=True)
class LeakyReadout:
    """Leaky integrators without spikes, one per class; their mean over time is the logit."""

    decay: float = described(
        "Share of the membrane kept from step to step.", default=0.95, ge=0.0, lt=1.0
    )
    gain: float = described(
        "Scales the input current by gain * (1 - decay).", default=10.0, gt=0.0, le=1e4
    )


@dataclass(frozen=True)
class Surrogate:
    """What stands in for the derivative of the spike in the backward pass."""

    name: Literal["superspike"] = described(
        "superspike: 1 / (slope * |membrane - threshold| + 1)^2.", default="superspike"
    )
    slope: float = described("Steepness of the surrogate.", default=10.0, gt=0.0, le=1e4)


@dataclass(frozen=True)
class Network:
    """Feed-forward layers of LIF neurons and a readout."""

    layers: Tuple[LIFLayer, ...] = described(
        "The hidden layers, input side first.", min_items=1, max_items=16
    )
    readout: LeakyReadout = described("The output layer.", factory=LeakyReadout)
    surrogate: Surrogate = described("The surrogate gradient.", factory=Surrogate)
    reset: Literal["zero"] = described(
        "What a spike does to the membrane: zero sets it to 0 before the next step.",
        default="zero",
    )
    reset_gradient: Literal["mask", "term"] = described(
        "mask: the spike in the reset is a constant, the membrane is not; "
        "term: the whole reset is a constant.",
        default="mask",
    )
    delay: Literal[0, 1] = described("Steps that a spike takes from layer to layer.", default=0)
    initial_membrane_std: float = described(
        "Weights start so that each layer's membrane would have this standard deviation, "
        "in units of its threshold, at the measured input rate.",
        default=1.0,
        gt=0.0,
        le=100.0,
    )
