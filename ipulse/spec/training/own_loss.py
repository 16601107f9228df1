"""A loss that a spec describes by equations."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import Field, ListOf, StrictModel, few
from ipulse.spec.network.equations import Equation, Name, Number
from ipulse_core.equations.loss import MAX_VALUES, equation_texts, layer_names_in, read_loss
from ipulse_core.equations.neuron import MAX_PARAMETERS, InvalidEquations
from ipulse_core.errors import Problem


class LossParameterSpec(StrictModel):
    """A constant in the equations of a loss, which a sweep may vary."""

    name: Name = Field(description="Name in equations.", examples=["margin"])
    value: Number = Field(description="Value.", examples=[1.0])


class LossValueSpec(StrictModel):
    """A value that the equations behind it may read by its name."""

    name: Name = Field(description="Name in equations.", examples=["score"])
    value: Equation = Field(
        description="An equation; it may read the values before it.",
        examples=["mean_over_time(membrane)"],
    )


class _Equations(StrictModel):
    kind: Literal["equations"] = Field(default="equations", description="Equations.")
    name: Name = Field(default="own", description="A name for people, in reports.")
    parameters: Annotated[
        ListOf[LossParameterSpec], Field(max_length=MAX_PARAMETERS), few(MAX_PARAMETERS)
    ] = Field(default=(), description="Constants in the equations.")
    values: Annotated[ListOf[LossValueSpec], Field(max_length=MAX_VALUES), few(MAX_VALUES)] = Field(
        default=(), description="Values that equations may read, in the order of computation."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong in the equations; the spec has the layers that they may read."""
        if layer_names_in(equation_texts(self)):
            return
        try:
            read_loss(self)
        except InvalidEquations as error:
            yield from error.problems


class EquationsLossSpec(_Equations):
    """A loss of your own as equations: data, which is checked and never run as code.

    Equations read `membrane` of a leaky readout, or `spike_count` and `first_spike` (ms) of a
    spiking one; `layers[0].membrane` and `layers[0].spikes` of any layer, or by its own name;
    `label`, 1 for the sample's class and 0 for others, or `target` or `step_target` of a
    regression; `t`, `steps` and `classes`.
    """

    kind: Literal["equations"] = Field(description="Loss.")
    loss: Equation = Field(
        description="The loss of a sample: one number.",
        examples=["-sum(label * log_softmax(mean_over_time(membrane)))"],
    )
    prediction: Equation | None = Field(
        default=None,
        description="A value for each class, of which the largest is predicted; in a regression, "
        "what is compared with the targets in metrics. Null: the mean of the membrane over time "
        "(with step_target, the membrane), spike_count, or -first_spike.",
    )


class EquationsPenalty(_Equations):
    """strength * mean over samples of a penalty of your own, as equations.

    They read what the equations of a loss read; `label` and targets are optional.
    """

    kind: Literal["equations"] = Field(default="equations", description="Regulariser.")
    penalty: Equation = Field(
        description="The penalty of a sample: one number.",
        examples=["mean(square(mean_over_time(layers[0].spikes) - 0.05))"],
    )
    strength: float = Field(default=1.0, gt=0.0, le=1e9, description="Weight of the penalty.")
