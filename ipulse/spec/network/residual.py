"""The rules of residual additions: which layers a layer may receive in addition to the previous."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ipulse_core.errors import Problem
from ipulse_core.spec.kind_fields import field_of

from .layers import LayerSpec

if TYPE_CHECKING:
    from .network import HiddenLayer, NetworkSpec


def residual_problems(network: NetworkSpec) -> Iterator[Problem]:
    """Yields numbers of layers that are too late, listed twice, or of another width."""
    hidden = network.layers
    for index, layer in enumerate((*hidden, network.readout)):
        place = f"/layers/{index}" if index < len(hidden) else "/readout"
        numbers = field_of(layer, "residual")  # convolutions have none
        for at, number in enumerate(numbers):
            pointer = f"{place}/residual/{at}"
            if number >= index:
                first = "it has no such layers" if index < 2 else f"at most {index - 1}"
                detail = f"must be a hidden layer before the previous one: {first}; got {number}"
                yield Problem(pointer, "inconsistent", detail)
            elif number in numbers[:at]:
                yield Problem(pointer, "inconsistent", f"{number} is listed already")
            else:
                yield from _misfits(pointer, number, index, hidden)


def _misfits(
    pointer: str, number: int, previous: int, hidden: Sequence[HiddenLayer]
) -> Iterator[Problem]:
    """Yields what keeps the spikes of layer `number` from being added to those of `previous`."""
    layers = hidden[number - 1 : previous]
    dense = [layer for layer in layers if isinstance(layer, LayerSpec)]
    if len(dense) < len(layers):
        detail = "only spikes of dense layers are added, with only dense layers between them"
        yield Problem(pointer, "unsupported", detail)
    elif dense[0].neurons != dense[-1].neurons:
        detail = (
            f"layer {number} has {dense[0].neurons:,} neurons and layer {previous} has "
            f"{dense[-1].neurons:,}: spikes are added neuron by neuron"
        )
        yield Problem(pointer, "inconsistent", detail)
