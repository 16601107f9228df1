"""Warnings about valid specs that are likely to train poorly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator

from ipulse_core.spec.derived_values import grows_capacity

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def warnings_of(spec: ExperimentSpec) -> Iterator[str]:
    """Yield warnings with the place in the spec and a hint."""
    readout = spec.network.readout
    if readout.kind == "spiking" and readout.second_threshold is not None:
        yield (
            "network.readout.second_threshold keeps the loss's gradient from most classes, which "
            "trains poorly: leave it out"
        )
    for number, layer in enumerate(spec.network.layers, start=1):
        if grows_capacity(layer) and getattr(layer, "second_threshold", None) is None:
            yield (
                f"layer {number} has a capacity and no second_threshold: every neuron carries a "
                "gradient, but most do not fit into the capacity; set a second_threshold"
            )
