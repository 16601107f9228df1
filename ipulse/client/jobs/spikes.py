"""The spikes of test samples, as arrays and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ipulse.optional_modules import optional_module
from ipulse_core.errors import NotFound


@dataclass(frozen=True)
class SampleSpikes:
    """The spikes of one sample.

    Attributes:
        sample: Its number in the data set.
        label: Its class; None in a regression.
        predicted: The class that the network chose; None in a regression.
        steps: Time steps of the sample.
        layers: Pairs of lists, the steps and the neurons of all spikes, by layer: input, 1, 2, ...
    """

    sample: int
    label: int | None
    predicted: int | None
    steps: int
    layers: dict[str, tuple[list[int], list[int]]]

    def plot(self) -> Any:
        """Draw a raster of every layer, and return the matplotlib figure."""
        pyplot = optional_module("matplotlib.pyplot", "a picture of spikes")
        figure, axes = pyplot.subplots(
            len(self.layers), 1, sharex=True, squeeze=False, layout="constrained"
        )
        for axis, (name, (steps, neurons)) in zip(axes[:, 0], self.layers.items(), strict=True):
            axis.scatter(steps, neurons, s=3, marker="|", linewidths=1)
            axis.set_ylabel(name if name == "input" else f"layer {name}")
        axes[-1, 0].set_xlim(-0.5, self.steps - 0.5)
        axes[-1, 0].set_xlabel("time step")
        answer = "" if self.label is None else f": class {self.label}, predicted {self.predicted}"
        figure.suptitle(f"sample {self.sample}{answer}")
        return figure


def sample_in(document: dict[str, Any], sample: int) -> SampleSpikes:
    """Return the sample at a place of spikes.json. Raises NotFound."""
    samples = document["samples"]
    if not 0 <= sample < len(samples):
        raise NotFound(f"the job stored {len(samples)} samples, counted from 0; got {sample}")
    chosen = samples[sample]
    names = ["input", *(str(number) for number in range(1, len(chosen["spikes"])))]
    layers = {
        name: (spikes["steps"], spikes["neurons"])
        for name, spikes in zip(names, chosen["spikes"], strict=True)
    }
    return SampleSpikes(
        chosen["sample"], chosen["label"], chosen["predicted"], document["steps"], layers
    )
