"""A layer of neurons that a spec describes by equations."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from ipulse.models import Field, ListOf, StrictModel, few
from ipulse_core.equations.neuron import (
    MAX_NAME,
    MAX_PARAMETERS,
    MAX_STATES,
    NAME,
    InvalidEquations,
    read_neuron,
)
from ipulse_core.equations.parser import MAX_LENGTH
from ipulse_core.errors import Problem

from .delays import DELAYS, DelaysSpec
from .layers import (
    Capacity,
    Delay,
    Dropout,
    NamedLayer,
    Neurons,
    PerNeuron,
    Policy,
    Residual,
    Standardised,
    added_field,
    is_none,
    policy_without_capacity,
    too_many_slots,
)
from .quantisation import Quantisation

Name = Annotated[str, Field(pattern=NAME, max_length=MAX_NAME)]
Equation = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Gate = Annotated[float, Field(ge=-1e6, le=0.0)]
GATE = (
    "a neuron passes gradient through its spike only if its value of `spike` is above this number, "
    "in resets as well; null: every neuron does."
)


class NeuronStateSpec(StrictModel):
    """A value that each neuron keeps from step to step."""

    name: Name = Field(description="Name in equations.", examples=["u"])
    initial: Number = Field(default=0.0, description="Value before the first step of a sample.")
    update: Equation | None = Field(
        default=None,
        description="Value in this step, from the states of the step before, the parameters and "
        "I, the input current; new(a) is the value of the state a in this step; null: the state "
        "keeps its value.",
        examples=["decay * u + I"],
    )
    reset: Equation | None = Field(
        default=None,
        description="Value after the step, from the states of this step, the parameters, I and r, "
        "which is 1 for neurons that spike in this step and 0 for others; null: the state keeps "
        "its value.",
        examples=["where(r, 0, u)"],
    )


class NeuronParameterSpec(StrictModel):
    """A number in the equations, which may be trained."""

    name: Name = Field(description="Name in equations.", examples=["decay"])
    value: PerNeuron[Number] = Field(
        description="Value, or the one that training begins with; a list has one per neuron.",
        examples=[0.95],
    )
    minimum: Number | None = Field(default=None, description="Lowest value; null: none.")
    maximum: Number | None = Field(default=None, description="Highest value; null: none.")
    per: Literal["neuron", "layer"] = Field(
        default="neuron",
        description="What has a value: each neuron, in a convolution each filter, or the layer.",
    )
    trainable: bool = Field(default=False, description="Whether training changes the value.")


class NeuronSpec(StrictModel):
    """A neuron as equations: data, which is checked and never run as code.

    In each step all states are updated; the neuron spikes where `spike` is above 0; then all states
    get the values of their resets.
    """

    name: Name = Field(
        default="own", description="A name for people, in reports.", examples=["adaptive"]
    )
    states: Annotated[
        ListOf[NeuronStateSpec], Field(min_length=1, max_length=MAX_STATES), few(MAX_STATES)
    ] = Field(description="What each neuron keeps from step to step.")
    parameters: Annotated[
        ListOf[NeuronParameterSpec], Field(max_length=MAX_PARAMETERS), few(MAX_PARAMETERS)
    ] = Field(default=(), description="Numbers in the equations.")
    spike: Equation = Field(
        description="A neuron spikes where this is above 0. It is made of the states of this step, "
        "the parameters and I. The surrogate gradient is taken at its value.",
        examples=["u - theta"],
    )

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong in the equations."""
        try:
            read_neuron(self)
        except InvalidEquations as error:
            yield from error.problems


class EquationsLayerSpec(NamedLayer):
    """A dense layer of neurons of your own: the input current of a neuron is I.

    The surrogate gradient of the network applies. Its reset and reset_gradient do not: they are in
    the equations.
    """

    kind: Literal["equations"] = Field(description="Layer.")
    neurons: Neurons = Field(description="Neurons in the layer.")
    neuron: NeuronSpec = Field(description="The neuron.")
    bias: bool = Field(default=False, description="Whether each neuron learns a constant current.")
    recurrent: bool = Field(
        default=False,
        description="Whether the layer also receives its own spikes of the previous step, through "
        "trained weights, which are part of I.",
    )
    gate: Gate | None = Field(
        default=None,
        description=GATE[0].upper() + GATE[1:],
        examples=[-0.5],
    )
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
        """Yields lists that have not one number per neuron."""
        values = (parameter.value for parameter in self.neuron.parameters)
        yield from wrong_lengths(values, self.neurons, "neurons")
        yield from too_many_slots(self, self.neurons)
        yield from policy_without_capacity(self)


def wrong_lengths(values: Iterable[object], number: int, what: str) -> Iterator[Problem]:
    """Yields values of parameters that are lists without one number for each neuron or filter."""
    for index, value in enumerate(values):
        if isinstance(value, tuple) and len(value) != number:
            detail = f"must be one number or one for each of {number} {what}; got {len(value)}"
            yield Problem(f"/neuron/parameters/{index}/value", "wrong_length", detail)
