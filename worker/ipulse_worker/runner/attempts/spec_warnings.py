"""Warnings about valid specs that are likely to train poorly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterator

from ipulse_core.equations.neuron import read_neuron
from ipulse_core.equations.ranges import risky_divisions
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.derived_values import grows_capacity
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.part_layers import indexed_equations
from ipulse_core.spec.start_weights import layer_names, start_shapes
from ipulse_worker.runner.model.arrays_in_use import is_standardised

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
    shown = [*shown_names(spec.network).values()]
    for place, layer in zip(shown, spec.network.layers):
        if grows_capacity(layer) and field_of(layer, "second_threshold") is None:
            yield (
                f"{place} has a capacity and no second_threshold: every neuron carries a "
                "gradient, but most do not fit into the capacity; set a second_threshold"
            )
    for index, _ in indexed_ops(spec.network) if spec.training.truncate_steps is not None else ():
        yield (
            f"{shown[index]} is a custom op: its own gradient passes through all steps of a "
            "sample, and training.truncate_steps cuts those of other layers alone"
        )
    for index, described in indexed_equations(spec.network):
        for where, values in risky_divisions(read_neuron(described.neuron)):
            yield (
                f"{shown[index]} divides in {where} by a value of {values}, which may be 0: the "
                "job ends if it is; bound it, as by max(a, 0.001), or a parameter by minimum"
            )
    layers = [*spec.network.layers, readout]
    shapes = start_shapes(spec)
    for name, place, each in zip(layer_names(spec.network), shown, layers):
        senders = math.prod(shapes[name][:-1]) if is_standardised(each) else 0
        if senders == 1:
            yield (
                f"{place} has standardised weights of one sender: they are their own mean, so that "
                "it receives nothing; leave standardised out"
            )
        if senders == 2:
            yield (
                f"{place} has standardised weights of two senders: they are one standard deviation "
                "above and below their mean whatever training changes, so that their gradient is "
                "0; leave standardised out"
            )
