"""Convolutions: the first layers of a network, on the images of the data set."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import ByKind, ByShape, Field, ListOf, StrictModel
from ipulse_core.errors import Problem
from ipulse_core.neurons.constants import ROWS

from .delays import DELAYS, DelaysSpec
from .equations import GATE, Gate, NeuronSpec, wrong_lengths
from .layers import (
    ADAPTATION,
    AdaptationSpec,
    Capacity,
    Delay,
    Dropout,
    Gain,
    MembraneDecay,
    NamedLayer,
    PerNeuron,
    Policy,
    Residual,
    SecondThreshold,
    Standardised,
    SynapseDecay,
    Threshold,
    added_field,
    constant_field,
    exceeds,
    is_none,
    policy_without_capacity,
    wrong_constants,
)
from .quantisation import Quantisation

MAX_FILTERS = 4096
Size = Annotated[int, Field(ge=1, le=1024)]
Sides = Annotated[
    Size | Annotated[ListOf[Size], Field(min_length=2, max_length=2)],
    ByShape(),
]
_Named = Literal["valid", "same"]
_Zeros = Annotated[int, Field(ge=0, le=1024)]
Padding = Annotated[
    _Named | _Zeros | Annotated[ListOf[_Zeros], Field(min_length=2, max_length=2)], ByShape()
]
_PADDING = (
    "valid: the kernel stays within the input; same: zeros around the input, so that without "
    "strides the output is as large; or zeros on both sides: "
)


_Recurrent = Annotated[
    bool,
    Field(
        description="Whether the layer also receives its own spikes of the previous step, through "
        "a trained kernel of kernel_size from all filters to all, without strides and with padding "
        "same."
    ),
]


class _Pool2D(StrictModel):
    pool_size: Sides = Field(
        default=2,
        description="Sides of a window: one number, or height and width. Rows and columns that "
        "fill no window are cropped.",
    )


class SumPoolSpec(_Pool2D):
    """Sums the spikes of neighbouring neurons of a filter; windows do not overlap."""

    kind: Literal["sum"] = Field(default="sum", description="Pool.")


class AveragePoolSpec(_Pool2D):
    """Sums spikes, and divides the weights behind it by the size of a window."""

    kind: Literal["average"] = Field(default="average", description="Pool.")


Pool = Annotated[SumPoolSpec | AveragePoolSpec, ByKind(default="sum")]


class _Pool1D(StrictModel):
    pool_size: Size = Field(default=2, description="Length of a window.")


class SumPool1DSpec(_Pool1D):
    """Sums the spikes of neighbouring neurons of a filter; windows do not overlap."""

    kind: Literal["sum"] = Field(default="sum", description="Pool.")


class AveragePool1DSpec(_Pool1D):
    """Sums spikes, and divides the weights behind it by the length of a window."""

    kind: Literal["average"] = Field(default="average", description="Pool.")


Pool1D = Annotated[SumPool1DSpec | AveragePool1DSpec, ByKind(default="sum")]


class _ConvLayer(NamedLayer):
    """Fields of every convolution. A constant is one number, or a list with one per filter."""

    filters: int = Field(ge=1, le=MAX_FILTERS, description="Channels of the output.")
    groups: int = Field(
        default=1,
        ge=1,
        le=MAX_FILTERS,
        description="Groups of channels and filters that are convolved separately; must divide "
        "both.",
    )
    decay: PerNeuron[MembraneDecay] = constant_field("decay")
    gain: Gain = constant_field("gain")
    bias: bool = Field(default=False, description="Whether each filter learns a constant current.")
    recurrent: _Recurrent = added_field(False)
    synapse_decay: PerNeuron[SynapseDecay] | None = constant_field(
        "synapse_decay", exclude_if=is_none
    )
    threshold: PerNeuron[Threshold] = constant_field("threshold")
    second_threshold: SecondThreshold | None = constant_field("second_threshold")
    adaptation: AdaptationSpec | None = Field(
        default=None, exclude_if=is_none, description=ADAPTATION
    )
    trainable: bool = Field(
        default=True,
        description="Whether training changes the kernel and the bias; false: they keep their "
        "initial values.",
    )
    capacity: Capacity = added_field(None)
    policy: Policy = added_field("index")
    standardised: Standardised = False
    quantisation: Quantisation = None
    dropout: Dropout = added_field(0.0)
    residual: Residual = added_field(())
    delay: Delay = None
    delays: DelaysSpec | None = Field(
        default=None,
        exclude_if=is_none,
        description=f"{DELAYS} A sending neuron is a channel of the input, in all its pixels.",
    )
    neuron: NeuronSpec | None = Field(
        default=None,
        description="Equations of the neurons, which then have no decay, gain, threshold and "
        "other constants; null: LIF neurons. A parameter per neuron has one value for each "
        "filter.",
    )
    gate: Gate | None = Field(default=None, description=f"With equations: {GATE}", examples=[-0.5])

    def problems(self) -> Iterator[Problem]:
        """Yields thresholds out of order, and fields that do not fit equations."""
        if self.neuron is not None:
            yield from self._problems_of_equations(self.neuron)
        elif self.gate is not None:
            detail = "is for neurons with equations: set second_threshold, or a neuron"
            yield Problem("/gate", "inconsistent", detail)
        yield from policy_without_capacity(self)
        if self.delays is not None and self.groups > 1:
            detail = "a convolution in groups has one delay for its connections: remove one of both"
            yield Problem("/delays", "unsupported", detail)
        yield from wrong_constants(self, self.filters, "filters")
        if self.second_threshold is not None and isinstance(self.threshold, tuple):
            detail = "a second threshold needs one threshold for all filters: remove one of the two"
            yield Problem("/second_threshold", "unsupported", detail)
        elif exceeds(self.second_threshold, self.threshold):
            detail = "must not be above the layer's threshold"
            yield Problem("/second_threshold", "inconsistent", detail)

    def _problems_of_equations(self, neuron: NeuronSpec) -> Iterator[Problem]:
        for name in dict.fromkeys(row.path[0] for row in ROWS):
            if getattr(self, name) != type(self).model_fields[name].default:
                detail = "is of LIF neurons, and this layer has equations: remove it"
                yield Problem(f"/{name}", "inconsistent", detail)
        values = (parameter.value for parameter in neuron.parameters)
        yield from wrong_lengths(values, self.filters, "filters")


class Conv2DSpec(_ConvLayer):
    """A two-dimensional event-driven convolution, its neurons, and a pool of their spikes."""

    kind: Literal["conv2d"] = Field(default="conv2d", description="Layer.")
    kernel_size: Sides = Field(description="One number, or height and width.")
    strides: Sides = Field(
        default=1, description="Distance of neighbouring outputs: one number, or rows and columns."
    )
    padding: Padding = Field(
        default="valid", description=f"{_PADDING}one number, or rows and columns.", examples=[1]
    )
    dilation_rate: Sides = Field(
        default=1,
        description="Distance of the kernel's taps: one number, or rows and columns.",
    )
    pool: Pool | None = Field(default=None, description="Pool behind the neurons; null: none.")


class Conv1DSpec(_ConvLayer):
    """A one-dimensional event-driven convolution, its neurons, and a pool of their spikes."""

    kind: Literal["conv1d"] = Field(default="conv1d", description="Layer.")
    kernel_size: Size = Field(description="Taps of the kernel.")
    strides: Size = Field(default=1, description="Distance of neighbouring outputs.")
    padding: Annotated[_Named | _Zeros, ByShape()] = Field(
        default="valid", description=f"{_PADDING}a number.", examples=[1]
    )
    dilation_rate: Size = Field(default=1, description="Distance of the kernel's taps.")
    pool: Pool1D | None = Field(default=None, description="Pool behind the neurons; null: none.")


ConvSpec = Conv2DSpec | Conv1DSpec
