"""Convolutions: the first layers of a network, on the images of the data set."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import ByKind, ByShape, Field, ListOf, StrictModel
from ipulse_core.errors import Problem

from .equations import GATE, Gate, NeuronSpec, wrong_lengths
from .layers import (
    MEMBRANE_DECAY,
    SECOND_THRESHOLD,
    THRESHOLD,
    Delay,
    Gain,
    MembraneDecay,
    SecondThreshold,
    Threshold,
)
from .quantisation import QUANTISATION, QuantisationSpec

MAX_FILTERS = 4096
Size = Annotated[int, Field(ge=1, le=1024)]
Sides = Annotated[
    Size | Annotated[ListOf[Size], Field(min_length=2, max_length=2)],
    ByShape(),
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


class _ConvLayer(StrictModel):
    """Fields of every convolution. The neurons of a layer have the same constants."""

    filters: int = Field(ge=1, le=MAX_FILTERS, description="Channels of the output.")
    padding: Literal["valid", "same"] = Field(
        default="valid",
        description="valid: the kernel stays within the input; same: zeros around the input, so "
        "that without strides the output is as large.",
    )
    groups: int = Field(
        default=1,
        ge=1,
        le=MAX_FILTERS,
        description="Groups of channels and filters that are convolved separately; must divide "
        "both.",
    )
    decay: MembraneDecay = Field(default=0.95, description=MEMBRANE_DECAY)
    gain: Gain = 10.0
    bias: bool = Field(default=False, description="Whether each filter learns a constant current.")
    threshold: Threshold = Field(default=1.0, description=THRESHOLD)
    second_threshold: SecondThreshold | None = Field(default=None, description=SECOND_THRESHOLD)
    trainable: bool = Field(
        default=True,
        description="Whether training changes the kernel and the bias; false: they keep their "
        "initial values.",
    )
    standardised: bool = Field(
        default=False,
        description="Normalisation: whether the kernel of each filter is reduced to mean 0 and a "
        "trained standard deviation. It begins as that of the initial kernel.",
    )
    quantisation: QuantisationSpec | None = Field(default=None, description=QUANTISATION)
    delay: Delay = None
    neuron: NeuronSpec | None = Field(
        default=None,
        description="Equations of the neurons, which then have no decay, gain, threshold and "
        "second_threshold; null: LIF neurons. A parameter per neuron has one value for each "
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
        if self.second_threshold is not None and self.second_threshold > self.threshold:
            detail = "must not be above the layer's threshold"
            yield Problem("/second_threshold", "inconsistent", detail)

    def _problems_of_equations(self, neuron: NeuronSpec) -> Iterator[Problem]:
        for name in ("decay", "gain", "threshold", "second_threshold"):
            if getattr(self, name) != type(self).model_fields[name].default:
                detail = "is of LIF neurons, and this layer has equations: remove it"
                yield Problem(f"/{name}", "inconsistent", detail)
        if self.quantisation is not None:
            detail = "the weights of neurons with equations are not quantised: remove it"
            yield Problem("/quantisation", "unsupported", detail)
        if self.standardised:
            detail = "the weights of neurons with equations are not standardised: remove it"
            yield Problem("/standardised", "unsupported", detail)
        values = (parameter.value for parameter in neuron.parameters)
        yield from wrong_lengths(values, self.filters, "filters")


class Conv2DSpec(_ConvLayer):
    """A two-dimensional event-driven convolution, its neurons, and a pool of their spikes."""

    kind: Literal["conv2d"] = Field(default="conv2d", description="Layer.")
    kernel_size: Sides = Field(description="One number, or height and width.")
    strides: Sides = Field(
        default=1, description="Distance of neighbouring outputs: one number, or rows and columns."
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
    dilation_rate: Size = Field(default=1, description="Distance of the kernel's taps.")
    pool: Pool1D | None = Field(default=None, description="Pool behind the neurons; null: none.")


ConvSpec = Conv2DSpec | Conv1DSpec
