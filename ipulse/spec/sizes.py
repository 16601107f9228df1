"""The sizes of an experiment's network."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from ipulse_core.spec.conv_layers import (
    conv_geometries,
    hidden_sizes,
    kernel_geometries,
    senders_to_dense,
)
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import class_count, input_channels
from ipulse_core.spec.kind_fields import field_of

if TYPE_CHECKING:
    from .experiment import ExperimentSpec


def layer_sizes(spec: ExperimentSpec) -> list[int]:
    """Returns the input channels, the neurons of each hidden layer, and the classes."""
    return [input_channels(spec.data), *hidden_sizes(spec), class_count(spec.data)]


def weight_count(spec: ExperimentSpec) -> int:
    """Returns the number of weights of all layers, those of recurrence included."""
    convolved = conv_geometries(spec)
    kernels = sum(prod(geometry.weights) for geometry in kernel_geometries(spec))
    layers = [*spec.network.layers, spec.network.readout][len(convolved) :]
    neurons_behind = layer_sizes(spec)[1 + len(convolved) :]
    sizes = [senders_to_dense(spec), *neurons_behind]
    total = kernels
    for layer, (before, neurons) in zip(layers, pairwise(sizes), strict=True):
        if is_op(layer):
            continue
        recurrent = neurons if field_of(layer, "recurrent") else 0
        total += (before + recurrent) * neurons
    return total
