"""Layers that run as parts of their own between stacks of LIF layers.

These are custom ops, and layers with neurons of equations or of packages.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.neuron_packages import has_package


def has_equations(layer: Any) -> bool:
    """Returns whether a layer of a spec has neurons with equations."""
    if has_package(layer):
        return False
    return layer.kind == "equations" or field_of(layer, "neuron") is not None


def has_own_neurons(layer: Any) -> bool:
    """Returns whether a layer of a spec has neurons with equations or of a package."""
    return has_equations(layer) or has_package(layer)


def is_recurrent(layer: Any) -> bool:
    """Returns whether a layer receives its own spikes."""
    return bool(field_of(layer, "recurrent"))


def is_part(layer: Any) -> bool:
    """Returns whether a layer of a spec runs as a part of its own."""
    return is_op(layer) or has_own_neurons(layer)


def equation_layers(network: Any) -> List[Any]:
    """Returns the hidden layers with equations."""
    return [layer for layer in network.layers if has_equations(layer)]


def indexed_equations(network: Any) -> List[Tuple[int, Any]]:
    """Returns the layers with equations with their indices among the hidden layers, from 0."""
    layers = enumerate(network.layers)
    return [(index, layer) for index, layer in layers if has_equations(layer)]


def part_layers(network: Any) -> List[Any]:
    """Returns the hidden layers that run as parts of their own."""
    return [layer for layer in network.layers if is_part(layer)]


def part_name(network: Any) -> str:
    """Returns what a network with such layers has, for messages."""
    if any(map(is_op, network.layers)):
        return "custom ops"
    return "packages of neurons" if any(map(has_package, network.layers)) else "equations"
