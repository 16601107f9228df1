"""Convolutions of LIF neurons that run as two ops: connections and neurons.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, Tuple

from ipulse_core.neurons.constants import ROWS
from ipulse_core.spec.conv_layers import conv_layers, is_conv
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import reads_membrane
from ipulse_core.spec.part_layers import (
    has_equations,
    has_own_neurons,
    is_recurrent,
    part_layers,
)
from ipulse_core.spec.start_weights import constant_of, trained_constants

NOT_IN_NIR = (
    "convolutions with dropout, residual additions, trained constants, constants by filter, "
    "synapses, adaptive thresholds, capacities, delays of connections, membranes that regularisers "
    "or losses read, or truncated gradients"
)


def has_composed_neurons(network: Any, layer: Any) -> bool:
    """Returns whether a layer is a convolution with constants that its own kernel has not.

    These are constants that are trained or differ by filter, synapses and adaptive thresholds, and
    besides a capacity, delays of its connections and recurrent connections.
    """
    if not is_conv(layer) or has_own_neurons(layer):
        return False
    return is_recurrent(layer) or _has_more(network, layer)


def _has_more(network: Any, layer: Any) -> bool:
    """Returns whether a convolution of LIF neurons has more of these than recurrence."""
    if field_of(layer, "capacity") is not None or field_of(layer, "delays") is not None:
        return True
    return bool(trained_constants(network, layer)) or has_constants_of_filters(layer)


def has_constants_of_filters(layer: Any) -> bool:
    """Returns whether a convolution has constants by filter, synapses or adaptive thresholds."""
    values = [constant_of(layer, row.name) for row in ROWS]
    optional = [constant_of(layer, row.name) for row in ROWS if row.is_optional and row.is_trained]
    has_optional = any(value is not None for value in optional)
    return has_optional or any(isinstance(value, tuple) for value in values)


def is_composed(network: Any) -> bool:
    """Returns whether the layers of a network run one part after the other.

    Other networks with convolutions have dense LIF layers behind them, without spikes of
    convolutions that are added or ignored.
    """
    if part_layers(network):
        return True
    convolutions = conv_layers(network)
    if any(has_composed_neurons(network, layer) for layer in convolutions):
        return True
    return _adds_or_drops_spikes(network)


def _adds_or_drops_spikes(network: Any) -> bool:
    """Returns whether spikes of convolutions are added or ignored."""
    convolutions = conv_layers(network)
    behind = [*network.layers[len(convolutions) :], network.readout]
    added = [number for layer in behind for number in field_of(layer, "residual")]
    return any(number <= len(convolutions) for number in added if convolutions) or any(
        field_of(layer, "dropout") or field_of(layer, "residual") for layer in convolutions
    )


def is_composed_convolution(spec: Any, index: int) -> bool:
    """Returns whether hidden layer `index` is a convolution of LIF neurons that runs as two ops."""
    layer = spec.network.layers[index]
    if not is_conv(layer) or has_own_neurons(layer):
        return False
    is_cut = spec.training.truncate_steps is not None
    return is_cut or reads_membrane(spec, index) or has_composed_neurons(spec.network, layer)


def composed_sizes(layer: Any) -> Tuple[int, int]:
    """Returns the numbers of states and of constants of LIF neurons that run as equations."""
    synapse = field_of(layer, "synapse_decay") is not None
    adapts = field_of(layer, "adaptation") is not None
    return 1 + synapse + adapts, 3 + synapse + 2 * adapts


def stored_states(spec: Any, index: int) -> int:
    """Returns how many numbers a neuron of a hidden layer stores for each step besides its current.

    0: it is no layer of equations, and no convolution that runs as two ops.
    """
    layer = spec.network.layers[index]
    if has_equations(layer):
        states = len(layer.neuron.states)
    elif is_composed_convolution(spec, index):
        states, _ = composed_sizes(layer)
    else:
        return 0
    return 1 + states + reads_membrane(spec, index)  # and the value of `spike`


def runs_composed(spec: Any) -> bool:
    """Returns whether the layers of a spec's network run one part after the other."""
    indices = range(len(spec.network.layers))
    return is_composed(spec.network) or any(is_composed_convolution(spec, at) for at in indices)


def is_in_nir(spec: Any) -> bool:
    """Returns whether convolutions of a spec, if there are any, are exported to NIR."""
    network = spec.network
    convolutions = conv_layers(network)
    if not convolutions:
        return True
    if spec.training.truncate_steps is not None or part_layers(network):
        return False
    return not _adds_or_drops_spikes(network) and not any(
        reads_membrane(spec, at) or _has_more(network, layer)
        for at, layer in enumerate(convolutions)
    )
