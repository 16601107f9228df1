"""One experiment: its parts, and what must hold between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Literal

from ipulse import schema
from ipulse.errors import InvalidSpec, Problem
from ipulse.schema import described

from .data import DigitsData
from .device import CPUDevice
from .network import Network
from .training import Training

MAX_SYNAPSES = 2**27  # weights of the whole network: 512 MiB in float32
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
    data: DigitsData = described("What to learn.", factory=DigitsData)
    training: Training = described("How.", factory=Training)
    device: CPUDevice = described("On what.", factory=CPUDevice)
    metadata: Dict[str, str] = described(
        "Up to 16 pairs of your own, kept with the job.", factory=dict, max_items=16
    )

    def problems(self) -> Iterator[Problem]:
        sizes = [self.data.inputs, *(layer.neurons for layer in self.network.layers)]
        sizes.append(self.data.classes)
        synapses = sum(before * after for before, after in zip(sizes, sizes[1:]))
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


def parse_spec(value: Any) -> ExperimentSpec:
    """The spec in parsed JSON or YAML.

    Raises InvalidSpec with every problem and the JSON pointer of each.
    """
    return schema.parse(ExperimentSpec, value, InvalidSpec)


def spec_to_json(spec: ExperimentSpec) -> Dict[str, Any]:
    """The spec as JSON with every default written out: what is stored and hashed."""
    value: Dict[str, Any] = schema.to_json(spec)
    return value
