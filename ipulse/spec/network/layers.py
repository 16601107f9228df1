"""The layers of a network: hidden LIF layers and a readout that spikes or does not.

A constant of a layer is one number for all neurons or a list with one number per neuron.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from ipulse.models import ByShape, Field, ListOf, StrictModel, few
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_STEPS
from ipulse_core.neurons.constants import BY_NAME, ROWS
from ipulse_core.registry.layer_paths import LAYER_NAME
from ipulse_core.spec.derived_values import first_capacity
from ipulse_core.spec.start_weights import constant_of

from .delays import DELAYS, DelaysSpec
from .quantisation import Quantisation

T = TypeVar("T")
MAX_NEURONS = 65_535  # of a layer


def constant_range(name: str) -> Any:
    """Returns the bounds of a constant of neurons, by its name in the table of constants."""
    bounds = BY_NAME[name].in_specs
    return Field(ge=bounds.least, le=bounds.most, gt=bounds.above, lt=bounds.below)


def constant_field(name: str, **options: Any) -> Any:
    """Returns default and description of a constant's field; `options` go over them."""
    row = BY_NAME[name]
    return Field(**{"default": row.default, "description": row.sentence, **options})


def added_field(default: Any) -> Any:
    """Returns the default of a field that agents of earlier releases do not know."""
    return Field(default=default, exclude_if=lambda value: bool(value == default))


Neurons = Annotated[int, Field(ge=1, le=MAX_NEURONS)]
MembraneDecay = Annotated[float, constant_range("decay")]
SynapseDecay = Annotated[float, constant_range("synapse_decay")]
Threshold = Annotated[float, constant_range("threshold")]
DelaySteps = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Delay = Annotated[
    DelaySteps | None,
    Field(
        description="Steps that spikes take to this layer; null: network.delay, and 0 to the first "
        "layer."
    ),
]
Gain = Annotated[float, constant_range("gain")]
Dropout = Annotated[
    float,
    Field(
        ge=0.0,
        le=0.99,
        description="Probability with which the layer ignores a neuron of the layer before it, or "
        "an input channel, during a whole training sample; the other input weights are multiplied "
        "by 1 / (1 - dropout). Without effect outside of training.",
    ),
]
LayerNumber = Annotated[int, Field(ge=1, le=16)]
Standardised = Annotated[
    bool,
    Field(
        description="Normalisation: whether the input weights of each neuron, the kernel of each "
        "filter, are reduced to mean 0 and a trained standard deviation. It begins as that of the "
        "initial weights.",
    ),
]
Residual = Annotated[
    ListOf[LayerNumber],
    Field(
        max_length=15,
        description="Skip connections: numbers, from 1, of hidden layers before the previous one. "
        "Their spikes are added to those of the previous layer, which has as many neurons, behind "
        "pools an image of the same size; the layer receives the sum through its input weights.",
        examples=[[1]],
    ),
    few(15),
]
Strength = Annotated[float, constant_range("adaptation_strength")]
AdaptationDecay = Annotated[float, constant_range("adaptation_decay")]
SecondThreshold = Annotated[float, constant_range("second_threshold")]
PerNeuron = Annotated[
    T | Annotated[ListOf[T], Field(max_length=MAX_NEURONS), few(MAX_NEURONS)], ByShape()
]


def is_none(value: Any) -> bool:
    """Returns whether a field has no value, so that it is left out."""
    return value is None


class NamedLayer(StrictModel):
    """Fields of every layer."""

    name: Annotated[str, Field(pattern=LAYER_NAME, max_length=64)] | None = Field(
        default=None,
        exclude_if=is_none,  # agents of earlier releases know no names
        description="A name for people, which is shown in place of the layer's number; null: "
        "`layers[0]` for the first hidden layer and so on, and `readout`.",
        examples=["features"],
    )


ADAPTATION = (
    "Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with each spike of "
    "the neuron; null: they are constant."
)


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


Capacity = Annotated[
    Annotated[Neurons | GrowingCapacity, ByShape()] | None,
    Field(
        description="Slots per sample and step for neurons that spike or carry gradient, spikes "
        "first. Spikes beyond it are dropped and counted. Null: one slot per neuron.",
    ),
]
Policy = Annotated[
    Literal["index", "cyclic", "top"],
    Field(
        description="Which neurons get a slot when the capacity is too small. index: the lowest "
        "neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample and "
        "step; top: the highest membranes, with equations the highest values of `spike`.",
    ),
]


class AdaptationSpec(StrictModel):
    """Thresholds that rise with each spike of the neuron itself, and fall back between spikes."""

    strength: PerNeuron[Strength] = constant_field("adaptation_strength", default=0.2)
    decay: PerNeuron[AdaptationDecay] = constant_field("adaptation_decay", default=0.98)
    detach: bool = Field(
        default=False,
        description="Whether spikes are constants of the gradient where they raise thresholds.",
    )


Recurrent = Annotated[
    bool,
    Field(
        description="Whether the layer also receives its own spikes of the previous step, through "
        "trained weights."
    ),
]


class _Sized(NamedLayer):
    neurons: Neurons = Field(description="Neurons in the layer.")


class _Integrator(NamedLayer):
    """Fields of every layer of LIF neurons or leaky integrators."""

    decay: PerNeuron[MembraneDecay] = constant_field("decay")
    gain: Gain = constant_field("gain")
    bias: bool = Field(default=False, description="Whether each neuron learns a constant current.")
    synapse_decay: PerNeuron[SynapseDecay] | None = constant_field("synapse_decay")
    dropout: Dropout = 0.0
    residual: Residual = ()
    trainable: bool = Field(
        default=True,
        description="Whether training changes the layer's weights, bias and trained constants; "
        "false: they keep their initial values.",
    )
    standardised: Standardised = False
    quantisation: Quantisation = None
    delay: Delay = None
    delays: DelaysSpec | None = Field(default=None, description=DELAYS)


class _Spiking(_Integrator):
    """Fields of every layer that spikes."""

    threshold: PerNeuron[Threshold] = constant_field("threshold")
    second_threshold: PerNeuron[SecondThreshold] | None = constant_field("second_threshold")
    capacity: Capacity = None
    policy: Policy = "index"
    recurrent: Recurrent = False
    adaptation: AdaptationSpec | None = Field(default=None, description=ADAPTATION)

    def problems_of_size(self, neurons: int) -> Iterator[Problem]:
        """Yields what does not fit a layer with this many neurons."""
        yield from wrong_constants(self, neurons)
        if exceeds(self.second_threshold, self.threshold):
            detail = "must not be above the layer's threshold"
            yield Problem("/second_threshold", "inconsistent", detail)
        yield from too_many_slots(self, neurons)
        yield from policy_without_capacity(self)


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
        yield from wrong_constants(self, neurons)


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


def wrong_constants(layer: Any, number: int, what: str = "neurons") -> Iterator[Problem]:
    """Yields each list of constants that has not one number per neuron or filter."""
    for row in ROWS:
        value = constant_of(layer, row.name)
        if isinstance(value, tuple) and len(value) != number:
            detail = f"must be one number or one for each of {number} {what}; got {len(value)}"
            yield Problem("/" + "/".join(row.path), "wrong_length", detail)


def exceeds(value: float | tuple[float, ...] | None, limit: float | tuple[float, ...]) -> bool:
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


def too_many_slots(layer: Any, neurons: int) -> Iterator[Problem]:
    """Yields a capacity above the number of neurons."""
    detail = f"must not be above neurons ({neurons})"
    if isinstance(layer.capacity, GrowingCapacity):
        for name, slots in (("grow", layer.capacity.grow), ("most", layer.capacity.most)):
            if slots is not None and slots > neurons:
                yield Problem(f"/capacity/{name}", "inconsistent", detail)
    elif layer.capacity is not None and layer.capacity > neurons:
        yield Problem("/capacity", "inconsistent", detail)


def policy_without_capacity(layer: Any) -> Iterator[Problem]:
    """Yields a policy that chooses among no slots."""
    if layer.capacity is None and layer.policy != "index":
        detail = "has no effect without a capacity: set a capacity or remove it"
        yield Problem("/policy", "inconsistent", detail)
