"""The names of the arrays of a spec's network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional

from ipulse_core.spec.conv_layers import (
    conv_layers,
)
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.derived_values import (
    spiking_layers,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.part_layers import has_own_neurons, is_recurrent, part_layers
from ipulse_core.spec.start_weights import (
    CONSTANTS,
    DELAYS,
    PARAMETER,
    connection_delays,
    is_op_weight,
    layer_names,
    op_weight_name,
    trained_constants,
)
from ipulse_core.spec.stretches import runs_in_parts, stretches_of
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.weights import weight_shapes
from ipulse_worker.runner.model.arrays_in_use import DEVIATION, is_standardised
from ipulse_worker.runner.model.network import network_of, stretch_network

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec
    from ipulse_worker.runner.user_code.ops.ops import CustomOps


def spiking_names(spec: ExperimentSpec) -> List[str]:
    """Return the names of the spiking layers in metric keys: 1, 2, ... and "readout"."""
    names = [str(number) for number in range(1, len(spec.network.layers) + 1)]
    return [*names, "readout"][: len(spiking_layers(spec.network))]


def trained_names(spec: ExperimentSpec, ops: Optional[CustomOps] = None) -> List[str]:
    """Return the names of the trained arrays; `ops` runs the custom ops of the network.

    These are the weights, then for each part of the network the trained constants, such as
    layer_1_decay, then the deviations of standardised weights and the trained parameters of own
    neurons, layer by layer.
    """
    network = spec.network
    described: List[Any] = [*network.layers, network.readout]
    named = list(zip(layer_names(network), described))
    parts = [named]
    if runs_in_parts(network):
        parts = [
            [named[index] for index in [*each.layers, *[len(named) - 1] * each.has_readout]]
            for each in stretches_of(spec)
        ]
    rest: List[str] = []
    for layers in parts:
        rest += [
            f"{name}_{constant}"
            for constant in CONSTANTS
            for name, layer in layers
            if constant in trained_constants(network, layer)
        ]
        for name, layer in layers:
            if is_standardised(layer):
                rest.append(f"{name}{DEVIATION}")
            if has_own_neurons(layer):
                parameters = layer.neuron.parameters
                rest += [f"{name}{PARAMETER}{each.name}" for each in parameters if each.trainable]
    return [*weight_names(spec, ops), *rest]


def is_frozen(spec: ExperimentSpec, name: str, ops: Optional[CustomOps] = None) -> bool:
    """Return whether one of `trained_names` is constant.

    It is a weight of an op that is not trained, belongs to a layer that is not, or contains delays
    of synapses.
    """
    network = spec.network
    if is_op_weight(name) and name in _fixed_names(spec, ops):
        return True
    delays = connection_delays(network).get(name)
    if delays is not None and delays.per == "synapse":
        return True
    return any(
        not layer.trainable
        and (name == layer_name or name.startswith((f"{layer_name}_", f"{layer_name}.")))
        for layer_name, layer in zip(layer_names(network), [*network.layers, network.readout])
    )


def rate_factor(spec: ExperimentSpec, name: str) -> float:
    """Return the factor of the learning rate of one of `trained_names`."""
    delays = connection_delays(spec.network).get(name)
    return 1.0 if delays is None else float(delays.learning_rate_factor)


def weight_names(spec: ExperimentSpec, ops: Optional[CustomOps] = None) -> List[str]:
    """Return the weights' names, such as layer_1, layer_1_recurrent, layer_1_bias and readout.

    Their order is that of ipulse_ops.lif.weights.weight_shapes, behind the convolutions.
    """
    layers = layer_names(spec.network)
    found: List[str] = []
    if part_layers(spec.network):
        for stretch in stretches_of(spec):
            if stretch.is_op:
                (index,) = stretch.layers
                own = [] if ops is None else ops.weights_of(index)
                found += [op_weight_name(index, weight.name) for weight, _ in own]
                continue
            names = [layers[index] for index in stretch.layers]
            if stretch.is_equations or stretch.is_conv or stretch.is_package:
                (index,) = stretch.layers
                layer: Any = spec.network.layers[index]
                found += names + [f"{names[0]}_recurrent"] * is_recurrent(layer)
                found += [f"{names[0]}_bias"] * layer.bias
                found += [f"{names[0]}{DELAYS}"] * (field_of(layer, "delays") is not None)
                continue
            names += ["readout"] if stretch.has_readout else []
            found += _names(stretch_network(spec, stretch), names)
        return found
    before = conv_layers(spec.network)
    for name, layer in zip(layers, before):
        found += [name, *[f"{name}_recurrent"] * is_recurrent(layer)]
        found += [f"{name}_bias"] * layer.bias
        found += [f"{name}{DELAYS}"] * (field_of(layer, "delays") is not None)
    return found + _names(network_of(spec), layers[len(before) :])


def _fixed_names(spec: ExperimentSpec, ops: Optional[CustomOps]) -> List[str]:
    """Return the names of the arrays of custom ops that their manifests do not train."""
    if ops is None:
        return []
    return [
        op_weight_name(index, weight.name)
        for index, _ in indexed_ops(spec.network)
        for weight, _ in ops.weights_of(index)
        if not weight.trainable
    ]


def _names(network: Network, layers: List[str]) -> List[str]:
    return [
        layers[shape.layer] + ("" if shape.role == "input" else f"_{shape.role}")
        for shape in weight_shapes(network)
    ]
