"""A layer with neurons of a package that an administrator installed."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import Field, ListOf, StrictModel, few
from ipulse_core.errors import Problem
from ipulse_core.spec.neuron_packages import MAX_PARAMETERS, PACKAGE, PARAMETER_NAME

from .delays import DELAYS, DelaysSpec
from .equations import Number, wrong_lengths
from .layers import (
    Capacity,
    Delay,
    Dropout,
    NamedLayer,
    Neurons,
    PerNeuron,
    Policy,
    Recurrent,
    Residual,
    Standardised,
    added_field,
    is_none,
    policy_without_capacity,
    too_many_slots,
)
from .quantisation import Quantisation

_EXAMPLE = "coupled_dendrites@sha256:" + "0123456789abcdef" * 4


class PackageParameterSpec(StrictModel):
    """A parameter of a package's neurons; its bounds are those of the package."""

    name: Annotated[str, Field(pattern=PARAMETER_NAME)] = Field(
        description="Name in the package.", examples=["coupling"]
    )
    value: PerNeuron[Number] | None = Field(
        default=None,
        description="Value, or the one that training begins with; a list has one per neuron; null: "
        "the default of the package.",
        examples=[0.1],
    )
    per: Literal["neuron", "layer"] = Field(
        default="neuron", description="What has a value: each neuron or the layer."
    )
    trainable: bool = Field(default=False, description="Whether training changes the value.")


class PackageNeuronSpec(StrictModel):
    """Neurons of a package that is installed on workers and was signed off by its digest."""

    package: str = Field(
        pattern=PACKAGE,
        description="The package as its administrator signed it off: its name and the digest of "
        "its installed files.",
        examples=[_EXAMPLE],
    )
    parameters: Annotated[
        ListOf[PackageParameterSpec], Field(max_length=MAX_PARAMETERS), few(MAX_PARAMETERS)
    ] = Field(default=(), description="Parameters; others have the defaults of the package.")

    def problems(self) -> Iterator[Problem]:
        """Yields parameters that are listed twice, and lists for the whole layer."""
        names = [parameter.name for parameter in self.parameters]
        for index, parameter in enumerate(self.parameters):
            if parameter.name in names[:index]:
                detail = f"{parameter.name} is listed already: remove one"
                yield Problem(f"/parameters/{index}/name", "inconsistent", detail)
            if parameter.per == "layer" and isinstance(parameter.value, tuple):
                detail = "the layer has one value: give one number, or set per to neuron"
                yield Problem(f"/parameters/{index}/value", "inconsistent", detail)


class PackageLayerSpec(NamedLayer):
    """A dense layer of neurons of a package, which an administrator installed on workers.

    The package has its own resets and surrogate gradient; those of the network do not apply to it.
    """

    kind: Literal["package"] = Field(description="Layer.")
    neurons: Neurons = Field(description="Neurons in the layer.")
    neuron: PackageNeuronSpec = Field(description="The neurons.")
    bias: bool = Field(default=False, description="Whether each neuron learns a constant current.")
    recurrent: Recurrent = added_field(False)
    trainable: bool = Field(
        default=True,
        description="Whether training changes the layer's weights, bias and trained parameters; "
        "false: they keep their initial values.",
    )
    capacity: Capacity = added_field(None)
    policy: Policy = added_field("index")
    standardised: Standardised = added_field(False)
    quantisation: Quantisation = added_field(None)
    dropout: Dropout = added_field(0.0)
    residual: Residual = added_field(())
    delay: Delay = None
    delays: DelaysSpec | None = Field(default=None, exclude_if=is_none, description=DELAYS)

    def problems(self) -> Iterator[Problem]:
        """Yields lists that have not one number per neuron, and slots that do not fit."""
        values = (parameter.value for parameter in self.neuron.parameters)
        yield from wrong_lengths(values, self.neurons, "neurons")
        yield from too_many_slots(self, self.neurons)
        yield from policy_without_capacity(self)
