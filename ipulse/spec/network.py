"""The network of an experiment: layers of LIF neurons, a readout, and how they are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Literal, Tuple, Union

from ipulse_core.errors import Problem
from ipulse_core.schema import described

from .layers import LeakyReadout, LIFLayer, Readout, SpikingReadout
from .surrogate import SuperSpike, Surrogate


@dataclass(frozen=True)
class Network:
    """Layers of LIF neurons and a readout."""

    layers: Tuple[LIFLayer, ...] = described(
        "The hidden layers, input side first.", min_items=1, max_items=16
    )
    readout: Readout = described("The output layer.", factory=LeakyReadout)
    surrogate: Surrogate = described("The surrogate gradient.", factory=SuperSpike)
    reset: Literal["zero", "subtract", "none"] = described(
        "What a spike does to the membrane before the next step: zero sets it to 0, subtract "
        "takes the threshold off it, none leaves it.",
        default="zero",
    )
    reset_on: Literal["state", "emission"] = described(
        "Which neurons are reset where slots are too few. state: all above their threshold, also "
        "those whose spike found no slot; emission: those whose spike found one, so that the "
        "others may spike in the next step.",
        default="state",
    )
    reset_gradient: Literal["mask", "term", "none"] = described(
        "mask: the spike in the reset is a constant, the membrane is not; "
        "term: the whole reset is a constant; none: nothing is.",
        default="mask",
    )
    delay: Literal[0, 1] = described("Steps that a spike takes from layer to layer.", default=0)
    trainable: Tuple[Literal["decay", "threshold", "synapse_decay"], ...] = described(
        "Constants that are trained with the weights, one number for each neuron.",
        factory=tuple,
        max_items=3,
    )
    initial_membrane_std: float = described(
        "Weights start so that each layer's membrane would have this standard deviation, "
        "in units of its threshold, at the spike rate measured in the layers before it.",
        default=1.0,
        gt=0.0,
        le=100.0,
    )

    def problems(self) -> Iterator[Problem]:
        for index, name in enumerate(self.trainable):
            if name in self.trainable[:index]:
                yield Problem(f"/trainable/{index}", "inconsistent", f"{name} is there already")
        with_synapse = [layer.synapse_decay is not None for layer in (*self.layers, self.readout)]
        if "synapse_decay" in self.trainable and not any(with_synapse):
            yield Problem(
                f"/trainable/{self.trainable.index('synapse_decay')}",
                "inconsistent",
                "no layer has a synapse_decay to train: give one of them one",
            )
        if self.reset_on == "emission" and all(layer.capacity is None for layer in self.spiking):
            yield Problem(
                "/reset_on",
                "inconsistent",
                "every spike finds a slot where no layer has a capacity: set one, or leave it out",
            )
        if self.reset == "none" and self.reset_gradient != "mask":
            yield Problem(
                "/reset_gradient", "inconsistent", "there is no reset to take a gradient of"
            )

    @property
    def spiking(self) -> List[Union[LIFLayer, SpikingReadout]]:
        """The layers that spike: the hidden ones, and the readout if it does."""
        readout = [self.readout] if isinstance(self.readout, SpikingReadout) else []
        return [*self.layers, *readout]
