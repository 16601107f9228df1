"""Regularisers of the spike counts and the membranes of layers, or of your own equations.

c is the number of spikes of a neuron in a sample, u its membrane in a step before the reset: of
neurons with equations the first state. The penalty is added to the loss of a batch.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import ExactInteger, Field, ListOf, StrictModel
from ipulse_core.errors import Problem

from .own_loss import EquationsPenalty

LayerNumber = Annotated[int, Field(ge=1, le=2**53 - 1)]


class _Bound(StrictModel):
    layers: Annotated[ListOf[LayerNumber], Field(min_length=1, max_length=16)] | None = Field(
        default=None, description="Numbers of the hidden layers, from 1; null: all."
    )
    readout: bool = Field(
        default=False,
        description="Whether the readout is bound, too; its spikes only if it spikes.",
    )


class LowerBound(_Bound):
    """strength * mean over samples and neurons of max(0, spikes - c)^2."""

    kind: Literal["lower"] = Field(default="lower", description="Bound.")
    spikes: float = Field(
        default=1.0, gt=0.0, le=1e6, description="Spikes that a neuron should emit."
    )
    strength: float = Field(default=0.1, gt=0.0, le=1e9, description="Weight of the penalty.")


class UpperBound(_Bound):
    """strength * mean over samples of max(0, (mean of c over the layer) - spikes)^power."""

    kind: Literal["upper"] = Field(default="upper", description="Bound.")
    spikes: float = Field(
        default=5.0,
        ge=0.0,
        le=1e6,
        description="Mean spikes per neuron up to which there is no penalty.",
    )
    strength: float = Field(default=0.1, gt=0.0, le=1e9, description="Weight of the penalty.")
    power: Annotated[Literal[1, 2], ExactInteger] = Field(
        default=2, description="1: proportional; 2: squared."
    )


class MembraneBound(_Bound):
    """strength * mean over samples, steps and neurons of max(0, low - u, u - high)^2.

    u is the membrane before the reset, with equations the first state. Custom ops and packages of
    neurons have no membranes to bound: `layers` lists the others.
    """

    kind: Literal["membrane"] = Field(default="membrane", description="Bound.")
    low: float = Field(
        default=-1.0, ge=-1e6, le=1e6, description="Membrane down to which there is no penalty."
    )
    high: float = Field(
        default=1.0, ge=-1e6, le=1e6, description="Membrane up to which there is no penalty."
    )
    strength: float = Field(default=0.1, gt=0.0, le=1e9, description="Weight of the penalty.")

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if no membrane is without a penalty."""
        if self.low > self.high:
            yield Problem("/low", "inconsistent", f"must not be above high ({self.high:g})")


Regulariser = LowerBound | UpperBound | MembraneBound | EquationsPenalty
