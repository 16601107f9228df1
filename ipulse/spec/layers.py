"""The layers of a network: hidden LIF neurons, and a readout that spikes or does not.

A constant is one number for the whole layer or a list with one number per neuron.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Literal, Optional, Tuple, Union

from ipulse_core.errors import Problem
from ipulse_core.schema import described

PerNeuron = Union[float, Tuple[float, ...]]
MAX_NEURONS = 65_535  # of a layer


@dataclass(frozen=True)
class GrowingCapacity:
    """Slots that become more, between two training steps, whenever spikes found none."""

    grow: int = described("Slots per sample and step to begin with.", ge=1, le=MAX_NEURONS)
    most: Optional[int] = described(
        "Never more slots than this; null: one slot per neuron.",
        default=None,
        ge=1,
        le=MAX_NEURONS,
    )

    def problems(self) -> Iterator[Problem]:
        if self.most is not None and self.most < self.grow:
            yield Problem("/most", "inconsistent", f"must not be below grow ({self.grow})")


@dataclass(frozen=True)
class _Sized:
    neurons: int = described("Neurons in the layer.", ge=1, le=MAX_NEURONS)


@dataclass(frozen=True)
class _Integrator:
    """What every layer has."""

    decay: PerNeuron = described(
        "Share of the membrane kept from step to step, exp(-step / tau_mem).",
        default=0.95,
        ge=0.0,
        lt=1.0,
        max_items=MAX_NEURONS,
    )
    gain: float = described(
        "Scales the input current by gain * (1 - decay).", default=10.0, gt=0.0, le=1e4
    )
    bias: bool = described("Whether each neuron learns a constant current.", default=False)
    synapse_decay: Union[float, Tuple[float, ...], None] = described(
        "Share of the synaptic current kept from step to step, a second state between input and "
        "membrane as in NIR's CubaLIF; null: none.",
        default=None,
        ge=0.0,
        lt=1.0,
        max_items=MAX_NEURONS,
    )


@dataclass(frozen=True)
class _Spiking(_Integrator):
    """What every layer that spikes has."""

    threshold: PerNeuron = described(
        "A neuron spikes where its membrane is above this.",
        default=1.0,
        gt=0.0,
        le=1e6,
        max_items=MAX_NEURONS,
    )
    second_threshold: Union[float, Tuple[float, ...], None] = described(
        "Gradient flows only through neurons whose membrane is above this; null: through all.",
        default=None,
        ge=-1e6,
        le=1e6,
        max_items=MAX_NEURONS,
    )
    capacity: Union[int, GrowingCapacity, None] = described(
        "Slots per sample and step for spiking and gradient-carrying neurons, spikes first; what "
        "does not fit is dropped and counted. Null: one slot per neuron.",
        default=None,
        ge=1,
        le=MAX_NEURONS,
    )
    policy: Literal["index", "cyclic", "top"] = described(
        "Who gets the slots when there are too few. index: the neurons of the lowest numbers; "
        "cyclic: as index, but begun at a neuron drawn anew for every sample and step; top: those "
        "of the highest membranes.",
        default="index",
    )
    recurrent: bool = described(
        "Whether the layer's own spikes of the step before come back through weights.",
        default=False,
    )

    def problems_of(self, neurons: int) -> Iterator[Problem]:
        """What is wrong in a layer of so many neurons."""
        yield from problems_of_lists(
            self, ("decay", "synapse_decay", "threshold", "second_threshold"), neurons
        )
        if _exceeds(self.second_threshold, self.threshold):
            yield Problem(
                "/second_threshold", "inconsistent", "must not be above the layer's threshold"
            )
        if isinstance(self.capacity, GrowingCapacity):
            for name, slots in (("grow", self.capacity.grow), ("most", self.capacity.most)):
                if slots is not None and slots > neurons:
                    yield _too_many_slots(f"/capacity/{name}", neurons)
        elif self.capacity is not None and self.capacity > neurons:
            yield _too_many_slots("/capacity", neurons)
        if self.capacity is None and self.policy != "index":
            yield Problem(
                "/policy", "inconsistent", "decides who gets the slots: set a capacity, too"
            )

    @property
    def first_capacity(self) -> Optional[int]:
        """Slots that training begins with; None for one per neuron."""
        if isinstance(self.capacity, GrowingCapacity):
            return self.capacity.grow
        return self.capacity


@dataclass(frozen=True)
class LIFLayer(_Spiking, _Sized):
    """One hidden layer of leaky integrate-and-fire neurons."""

    def problems(self) -> Iterator[Problem]:
        yield from self.problems_of(self.neurons)


@dataclass(frozen=True)
class LeakyReadout(_Integrator):
    """Leaky integrators without spikes, one per class."""

    kind: Literal["leaky"] = described("Which kind of readout.", default="leaky")

    def problems_of(self, neurons: int) -> Iterator[Problem]:
        """What is wrong in a readout of so many neurons."""
        yield from problems_of_lists(self, ("decay", "synapse_decay"), neurons)


@dataclass(frozen=True)
class SpikingReadout(_Spiking):
    """LIF neurons, one per class, whose spikes are counted."""

    kind: Literal["spiking"] = described("Which kind of readout.", default="spiking")

    def problems_of(self, neurons: int) -> Iterator[Problem]:
        """What is wrong in a readout of so many neurons."""
        yield from super().problems_of(neurons)
        if self.first_capacity is not None and self.first_capacity < neurons:
            yield Problem(
                "/capacity",
                "inconsistent",
                f"fewer slots than classes ({neurons}): most of the loss's gradient would find no "
                "slot and the network would hardly learn; leave it out",
            )


Readout = Union[LeakyReadout, SpikingReadout]


def problems_of_lists(layer: Any, names: Tuple[str, ...], neurons: int) -> Iterator[Problem]:
    """One for each list that has not one number per neuron."""
    for name in names:
        value = getattr(layer, name)
        if isinstance(value, tuple) and len(value) != neurons:
            detail = f"must be one number or one for each of {neurons} neurons; got {len(value)}"
            yield Problem(f"/{name}", "wrong_length", detail)


def _exceeds(value: Optional[PerNeuron], limit: PerNeuron) -> bool:
    """Whether the value is above the limit for any neuron."""
    if value is None:
        return False
    values = value if isinstance(value, tuple) else (value,)
    limits = limit if isinstance(limit, tuple) else (limit,)
    if len(values) == len(limits):
        return any(one > other for one, other in zip(values, limits))
    if 1 in (len(values), len(limits)):
        return max(values, default=0.0) > min(limits, default=0.0)
    return False  # of different lengths, which is told already


def _too_many_slots(pointer: str, neurons: int) -> Problem:
    return Problem(pointer, "inconsistent", f"must not be above neurons ({neurons})")
