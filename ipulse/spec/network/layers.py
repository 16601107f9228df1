"""The layers of a network: hidden LIF layers and a readout that spikes or does not.

A constant of a layer is one number for all neurons or a list with one number per neuron.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from ipulse.models import ByShape, Field, ListOf, StrictModel, few
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_STEPS
from ipulse_core.spec.derived_values import first_capacity

from .delays import DELAYS, DelaysSpec
from .quantisation import QUANTISATION, QuantisationSpec

T = TypeVar("T")
MAX_NEURONS = 65_535  # of a layer

# Descriptions of fields that dense layers and convolutions have.
MEMBRANE_DECAY = (
    "Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the neuron "
    "integrates and fires: its membrane keeps everything."
)
THRESHOLD = "A neuron spikes where its membrane is above this value."
SECOND_THRESHOLD = (
    "Gradient flows only through neurons with a membrane above this value; null: through all."
)

Neurons = Annotated[int, Field(ge=1, le=MAX_NEURONS)]
Decay = Annotated[float, Field(ge=0.0, lt=1.0)]
MembraneDecay = Annotated[float, Field(ge=0.0, le=1.0)]
Threshold = Annotated[float, Field(gt=0.0, le=1e6)]
DelaySteps = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Delay = Annotated[
    DelaySteps | None,
    Field(
        description="Steps that spikes take to this layer; null: network.delay, and 0 to the first "
        "layer."
    ),
]
Gain = Annotated[
    float,
    Field(
        gt=0.0,
        le=1e4,
        description="Scales the input current by gain * (1 - decay), and by gain where decay is 1.",
    ),
]
Dropout = Annotated[float, Field(ge=0.0, le=0.99)]
LayerNumber = Annotated[int, Field(ge=1, le=16)]
Strength = Annotated[float, Field(ge=0.0, le=1e6)]
SecondThreshold = Annotated[float, Field(ge=-1e6, le=1e6)]
PerNeuron = Annotated[
    T | Annotated[ListOf[T], Field(max_length=MAX_NEURONS), few(MAX_NEURONS)], ByShape()
]


class GrowingCapacity(StrictModel):
    """A capacity that grows between two training steps whenever spikes were dropped."""

    grow: Neurons = Field(description="Initial capacity: slots per sample and step.")
    most: Neurons | None = Field(
        default=None, description="Largest capacity; null: one slot per neuron."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if the largest capacity is below the initial one."""
        if self.most is not None and self.most < self.grow:
            yield Problem("/most", "inconsistent", f"must not be below grow ({self.grow})")


class AdaptationSpec(StrictModel):
    """Thresholds that rise with each spike of the neuron itself, and fall back between spikes."""

    strength: PerNeuron[Strength] = Field(
        default=0.2, description="Rise of the neuron's thresholds with each of its spikes."
    )
    decay: PerNeuron[Decay] = Field(
        default=0.98,
        description="Fraction of the rise kept from step to step, exp(-step / tau_adaptation).",
    )
    detach: bool = Field(
        default=False,
        description="Whether spikes are constants of the gradient where they raise thresholds.",
    )


class _Sized(StrictModel):
    neurons: Neurons = Field(description="Neurons in the layer.")


class _Integrator(StrictModel):
    """Fields of every layer."""

    decay: PerNeuron[MembraneDecay] = Field(default=0.95, description=MEMBRANE_DECAY)
    gain: Gain = 10.0
    bias: bool = Field(default=False, description="Whether each neuron learns a constant current.")
    synapse_decay: PerNeuron[Decay] | None = Field(
        default=None,
        description="Fraction of the synaptic current kept from step to step: a second state "
        "between input and membrane, as in NIR's CubaLIF; null: none.",
    )
    dropout: Dropout = Field(
        default=0.0,
        description="Probability with which the layer ignores a neuron of the layer before it, or "
        "an input channel, during a whole training sample; the other input weights are multiplied "
        "by 1 / (1 - dropout). Without effect outside of training.",
    )
    residual: Annotated[ListOf[LayerNumber], Field(max_length=15), few(15)] = Field(
        default=(),
        description="Skip connections: numbers, from 1, of hidden layers before the previous one. "
        "Their spikes are added to those of the previous layer, which has as many neurons; the "
        "layer receives the sum through its input weights.",
        examples=[[1]],
    )
    trainable: bool = Field(
        default=True,
        description="Whether training changes the layer's weights, bias and trained constants; "
        "false: they keep their initial values.",
    )
    standardised: bool = Field(
        default=False,
        description="Normalisation: whether the input weights of each neuron are reduced to mean 0 "
        "and a trained standard deviation. It begins as that of the initial weights.",
    )
    quantisation: QuantisationSpec | None = Field(default=None, description=QUANTISATION)
    delay: Delay = None
    delays: DelaysSpec | None = Field(default=None, description=DELAYS)


class _Spiking(_Integrator):
    """Fields of every layer that spikes."""

    threshold: PerNeuron[Threshold] = Field(default=1.0, description=THRESHOLD)
    second_threshold: PerNeuron[SecondThreshold] | None = Field(
        default=None, description=SECOND_THRESHOLD
    )
    capacity: Annotated[Neurons | GrowingCapacity, ByShape()] | None = Field(
        default=None,
        description="Slots per sample and step for neurons that spike or carry gradient, spikes "
        "first. Spikes beyond it are dropped and counted. Null: one slot per neuron.",
    )
    policy: Literal["index", "cyclic", "top"] = Field(
        default="index",
        description="Which neurons get a slot when the capacity is too small. index: the lowest "
        "neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample and "
        "step; top: the highest membranes.",
    )
    recurrent: bool = Field(
        default=False,
        description="Whether the layer also receives its own spikes of the previous step, through "
        "trained weights.",
    )
    adaptation: AdaptationSpec | None = Field(
        default=None,
        description="Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with "
        "each spike of the neuron; null: they are constant.",
    )

    def problems_of_size(self, neurons: int) -> Iterator[Problem]:
        """Yields what does not fit a layer with this many neurons."""
        yield from _wrong_lengths(
            self, ("decay", "synapse_decay", "threshold", "second_threshold"), neurons
        )
        if self.adaptation is not None:
            for problem in _wrong_lengths(self.adaptation, ("strength", "decay"), neurons):
                yield replace(problem, pointer=f"/adaptation{problem.pointer}")
        if _exceeds(self.second_threshold, self.threshold):
            detail = "must not be above the layer's threshold"
            yield Problem("/second_threshold", "inconsistent", detail)
        if isinstance(self.capacity, GrowingCapacity):
            for name, slots in (("grow", self.capacity.grow), ("most", self.capacity.most)):
                if slots is not None and slots > neurons:
                    yield _too_many_slots(f"/capacity/{name}", neurons)
        elif self.capacity is not None and self.capacity > neurons:
            yield _too_many_slots("/capacity", neurons)
        if self.capacity is None and self.policy != "index":
            detail = "has no effect without a capacity: set a capacity or remove it"
            yield Problem("/policy", "inconsistent", detail)


class LayerSpec(_Spiking, _Sized):
    """One hidden layer of leaky integrate-and-fire neurons."""

    kind: Literal["dense"] = Field(default="dense", description="Layer.")

    def problems(self) -> Iterator[Problem]:
        """Yields what does not fit the layer's number of neurons."""
        yield from self.problems_of_size(self.neurons)


class LeakyReadoutSpec(_Integrator):
    """Leaky integrators without spikes, one per class."""

    kind: Literal["leaky"] = Field(default="leaky", description="Readout.")

    def problems_of_size(self, neurons: int) -> Iterator[Problem]:
        """Yields what does not fit a readout with this many neurons."""
        yield from _wrong_lengths(self, ("decay", "synapse_decay"), neurons)


class SpikingReadoutSpec(_Spiking):
    """LIF neurons, one per class; their spikes are counted."""

    kind: Literal["spiking"] = Field(default="spiking", description="Readout.")

    def problems_of_size(self, neurons: int) -> Iterator[Problem]:
        """Yields what does not fit a readout with this many neurons."""
        yield from super().problems_of_size(neurons)
        slots = first_capacity(self)
        if slots is not None and slots < neurons:
            yield Problem(
                "/capacity",
                "inconsistent",
                f"is below the number of classes ({neurons}): most of the loss's gradient would be "
                "dropped and the network would hardly learn; remove it",
            )


Readout = LeakyReadoutSpec | SpikingReadoutSpec


def _wrong_lengths(layer: Any, names: tuple[str, ...], neurons: int) -> Iterator[Problem]:
    """Yields each list that has not one number per neuron."""
    for name in names:
        value = getattr(layer, name)
        if isinstance(value, tuple) and len(value) != neurons:
            detail = f"must be one number or one for each of {neurons} neurons; got {len(value)}"
            yield Problem(f"/{name}", "wrong_length", detail)


def _exceeds(value: float | tuple[float, ...] | None, limit: float | tuple[float, ...]) -> bool:
    """Returns whether the value is above the limit for any neuron."""
    if value is None:
        return False
    values = value if isinstance(value, tuple) else (value,)
    limits = limit if isinstance(limit, tuple) else (limit,)
    if len(values) == len(limits):
        return any(a > b for a, b in zip(values, limits, strict=True))
    if 1 in (len(values), len(limits)):
        return max(values, default=0.0) > min(limits, default=0.0)
    return False  # different lengths are reported already


def _too_many_slots(pointer: str, neurons: int) -> Problem:
    return Problem(pointer, "inconsistent", f"must not be above neurons ({neurons})")
