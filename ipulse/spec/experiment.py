"""One experiment: its parts, and what must hold between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, Literal, Union

from ipulse_core import parsing, schema
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.schema import described

from .data import Data, DigitsData
from .device import CPUDevice, Device, EmulatorDevice, IPUDevice
from .network import Network
from .training import SPIKE_LOSSES, Training

MAX_SYNAPSES = 2**27  # weights of the whole network: 512 MiB in float32
MOST_SENDERS = 2**16  # channels or neurons that the Poplar op's ids tell apart
MAX_STATE = 2**31  # membrane values that one training step may touch: time * batch * neurons


@dataclass(frozen=True)
class ExperimentSpec:
    """One experiment: data, network, training and device, with a seed that fixes all of it."""

    version: Literal[1] = described("Version of this schema.")
    network: Network = described("What learns.")
    name: str = described(
        "A name for people.", default="experiment", max_length=128, pattern=r"\S(.*\S)?"
    )
    seed: int = described(
        "Fixes weights and batch order: the same seed gives the same figures on the same "
        "kind of device.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )
    data: Data = described("What to learn.", factory=DigitsData)
    training: Training = described("How.", factory=Training)
    device: Device = described("On what.", factory=CPUDevice)
    metadata: Dict[str, str] = described(
        "Up to 16 pairs of your own, kept with the job.", factory=dict, max_items=16
    )

    def problems(self) -> Iterator[Problem]:
        yield from self._problems_of_size()
        yield from self._problems_of_readout()
        yield from self._problems_of_training()
        if not isinstance(self.device, CPUDevice):
            yield from self._problems_on_ipus(self.device)

    def _problems_of_size(self) -> Iterator[Problem]:
        sizes = [self.data.inputs, *(layer.neurons for layer in self.network.layers)]
        sizes.append(self.data.classes)
        synapses = sum(before * after for before, after in zip(sizes, sizes[1:]))
        synapses += sum(
            after * after
            for layer, after in zip(self.network.spiking, sizes[1:])
            if layer.recurrent
        )
        if synapses > MAX_SYNAPSES:
            detail = f"{synapses:,} weights in all; at most {MAX_SYNAPSES:,} are allowed"
            yield Problem("/network/layers", "too_large", detail)
        state = self.data.steps * self.training.batch_size * sum(sizes[1:])
        if state > MAX_STATE:
            detail = (
                f"steps * batch_size * neurons is {state:,}; at most {MAX_STATE:,} are allowed: "
                "use a smaller batch"
            )
            yield Problem("/training/batch_size", "too_large", detail)

    def _problems_of_readout(self) -> Iterator[Problem]:
        readout, loss = self.network.readout, self.training.loss
        for problem in readout.problems_of(self.data.classes):
            yield replace(problem, pointer=f"/network/readout{problem.pointer}")
        if loss in SPIKE_LOSSES and readout.kind != "spiking":
            detail = "counts the readout's spikes: set network.readout.kind to spiking"
            yield Problem("/training/loss", "inconsistent", detail)
        if loss not in SPIKE_LOSSES and readout.kind == "spiking":
            detail = (
                "reads the membrane of a leaky readout, and this one spikes: choose "
                f"{' or '.join(SPIKE_LOSSES)}"
            )
            yield Problem("/training/loss", "inconsistent", detail)

    def _problems_of_training(self) -> Iterator[Problem]:
        hidden = len(self.network.layers)
        for number, bound in enumerate(self.training.regularisers):
            for index, layer in enumerate(bound.layers or ()):
                if layer > hidden:
                    pointer = f"/training/regularisers/{number}/layers/{index}"
                    detail = f"there are {hidden} hidden layers"
                    yield Problem(pointer, "inconsistent", detail)
        gated = [layer.second_threshold is not None for layer in self.network.spiking]
        if self.training.second_threshold_ramp is not None and not any(gated):
            yield Problem(
                "/training/second_threshold_ramp",
                "inconsistent",
                "no layer has a second_threshold to rise to: give one of them one",
            )

    def _problems_on_ipus(self, device: Union[EmulatorDevice, IPUDevice]) -> Iterator[Problem]:
        """What the Poplar op does not do; docs/reference/poplar_op.md."""
        network, on = self.network, f"on {device.kind}"
        if device.kind == "ipu" and "decay" in network.trainable:
            detail = f"decays cannot be trained {on}, which has no float64 to derive scales in"
            yield Problem("/network/trainable", "unsupported", detail)
        if self.data.inputs > MOST_SENDERS:
            detail = f"ids have 16 bits {on}: at most {MOST_SENDERS:,} channels"
            yield Problem("/data", "unsupported", f"{detail}; got {self.data.inputs:,}")
        layers = [f"/network/layers/{number}" for number in range(len(network.layers))]
        places = len(layers) + 1
        if device.split == "layers" and device.ipus > places:
            detail = f"a layer lies on one IPU: {places} layers can use as many; got {device.ipus}"
            yield Problem("/device/split", "unsupported", detail)
        if not device.splits_neurons(places):
            return
        # A layer of one or two neurons is not split: they share a tile.
        sizes = [*(layer.neurons for layer in network.layers), self.data.classes]
        for at, layer, neurons in zip([*layers, "/network/readout"], network.spiking, sizes):
            if layer.policy == "top" and neurons > 2:
                detail = (
                    f"top compares membranes {on}, and only ids cross between IPUs: layers must "
                    f"be kept whole, on at most {places} IPUs"
                )
                yield Problem(f"{at}/policy", "unsupported", detail)


def parse_spec(value: Any) -> ExperimentSpec:
    """The spec in parsed JSON or YAML.

    Raises InvalidSpec with every problem and the JSON pointer of each.
    """
    return parsing.parse(ExperimentSpec, value, InvalidSpec)


def spec_to_json(spec: ExperimentSpec) -> Dict[str, Any]:
    """The spec as JSON with every default written out: what is stored and hashed."""
    value: Dict[str, Any] = schema.to_json(spec)
    return value
