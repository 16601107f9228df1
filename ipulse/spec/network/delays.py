"""Delays of single connections: one for each synapse, or a trained one for each sender."""

from collections.abc import Iterator
from typing import Literal

from ipulse.models import Field, StrictModel
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_STEPS

DELAYS = (
    "Delays of the connections to this layer, which replace `delay`; null: all its spikes take as "
    "many steps. `layer_N_delays` or `readout_delays` in the initial weights sets them; else they "
    "are drawn uniformly."
)
_FACTOR = 10.0


class DelaysSpec(StrictModel):
    """How long the spikes of each synapse, or of each sending neuron, take to a layer."""

    per: Literal["synapse", "neuron"] = Field(
        default="synapse",
        description="synapse: each weight has its own whole number of steps, which stays as it is; "
        "neuron: each neuron of the layer before, or input channel, has one, which is trained. "
        "Between two whole steps, both receive a part of the spike.",
    )
    longest: int = Field(
        ge=1, le=MAX_STEPS, description="The longest delay in steps; the shortest is 0."
    )
    learning_rate_factor: float = Field(
        default=_FACTOR,
        gt=0.0,
        le=1e6,
        description="Factor of the learning rate for delays, which are in steps.",
    )
    rounded: bool = Field(
        default=False,
        description="Whether evaluations and results use trained delays rounded to whole steps.",
    )

    @property
    def taps(self) -> int:
        """How many delays the spikes of a sender can take."""
        return 2 if self.per == "neuron" else self.longest + 1

    def problems(self) -> Iterator[Problem]:
        """Yields fields that have no effect on delays of synapses."""
        if self.per == "synapse":
            if self.learning_rate_factor != _FACTOR:
                detail = "has no effect: delays of synapses are not trained; remove it"
                yield Problem("/learning_rate_factor", "inconsistent", detail)
            if self.rounded:
                detail = "has no effect: delays of synapses are whole steps; remove it"
                yield Problem("/rounded", "inconsistent", detail)
