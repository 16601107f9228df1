"""The trained network of a job as a Keras layer: what a job leaves, ready to be called."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ipulse_core.registry.versions import lower
from ipulse_core.spec.composed_layers import runs_composed
from ipulse_core.spec.conv_layers import CONV_KINDS
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.resolved_spec import read_part
from ipulse_core.spec.start_weights import DELAYS
from ipulse_core.spec.stretches import delay_within
from ipulse_core.spec.upgrade import upgrade
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.convolutions.trained_convolutions import (
    connection_delays,
    quantisation_config,
    standardises,
    surrogate_config,
    trained_convolutions,
    weights_array,
)
from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.keras.part_network import PartNetwork
from ipulse_ops.keras.single_layer import LIFReadout
from ipulse_ops.keras.trained_constants import BOUNDS
from ipulse_ops.keras.trained_parts import trained_parts
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout
from ipulse_ops.lif.weights import weight_shapes

# Endings of the names of arrays, by role.
_SUFFIXES = {"input": "", "recurrent": "_recurrent", "bias": "_bias", "delays": DELAYS}


def trained_network(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    capacities: Sequence[Optional[int]] = (),
    **options: Any,
) -> Union[MultiLIF, ConvNetwork, PartNetwork]:
    """Create the network of a job and set its weights and trained constants.

    A network with convolutions is a ConvNetwork; one with equations, or with convolutions that have
    dropout or residual additions, is a PartNetwork. They take the option threads.

    Args:
        spec: the job's spec as JSON, of either version, of this or an earlier release.
        weights: the arrays of its weights.npz, by name.
        capacities: the final capacity of each spiking layer, where capacities grew.
        options: other arguments of MultiLIF, such as threads or return_membranes.

    Raises ValueError if an array is missing or has another shape, or for custom ops and packages,
    and InvalidSpec for a spec of a later release.
    """
    return _network(upgrade(lower(spec)), weights, capacities, **options)


def _network(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    capacities: Sequence[Optional[int]],
    **options: Any,
) -> Union[MultiLIF, ConvNetwork, PartNetwork]:
    """Create the network of a spec in its present form; a part's readout may be a hidden layer."""
    network = spec["network"]
    if any(layer["kind"] == "op" for layer in network["layers"]):
        raise ValueError("the network has custom ops, which run in jobs only")
    if any(layer["kind"] == "package" for layer in network["layers"]):
        raise ValueError("the network has neurons of a package, which run in jobs only")
    if runs_composed(read_part(spec)):
        return trained_parts(spec, weights, capacities, _network, **options)
    convolutions, scale = _convolutions(spec, weights, options)
    before = len(convolutions)
    names = [f"layer_{number}" for number in range(1, len(network["layers"]) + 1)][before:]
    names.append("readout")
    layers = [
        _layer(name, described, weights, capacity, before)
        for name, described, capacity in zip(
            names,
            [*network["layers"][before:], network["readout"]],
            [*capacities[before:], *[None] * len(names)],
        )
    ]
    if convolutions:
        options["input_scale"] = scale
    described = [*network["layers"][before:], network["readout"]]
    options["quantisation"] = [quantisation_config(layer) for layer in described]
    options["standardised"] = list(map(standardises, described))
    made: Union[MultiLIF, LIFReadout]
    if len(layers) == 1 and isinstance(layers[0], LeakyReadout):
        delays = input_delays(read_part(network))
        made = _readout(layers[0], weights, delays[-1], **options)
    else:
        options["truncate"] = spec["training"]["truncate_steps"]
        places = range(before, len(network["layers"]) + 1)
        options["delay"] = delay_within(read_part(network), places, is_part=False)
        made = _layers(network, layers, weights, names, **options)
    return ConvNetwork(convolutions, made) if convolutions else made


def _convolutions(
    spec: Mapping[str, Any], weights: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> Tuple[List[Convolution], float]:
    """Return the convolutions of a job, and the factor of the weights behind them."""
    if not any(layer["kind"] in CONV_KINDS for layer in spec["network"]["layers"]):
        return [], 1.0
    return trained_convolutions(spec, weights, **options)


def _readout(
    layer: LeakyReadout, weights: Mapping[str, np.ndarray], delay: int, **options: Any
) -> LIFReadout:
    """Create a leaky readout directly behind convolutions."""
    made = LIFReadout(
        int(weights_array(weights, "readout").shape[0]), layer, delay=delay, **options
    )
    roles = [shape.role for shape in weight_shapes(made.network)]
    made.set_kernels([weights_array(weights, "readout" + _SUFFIXES[role]) for role in roles])
    return made


def _layers(
    network: Mapping[str, Any],
    layers: Sequence[Any],
    weights: Mapping[str, np.ndarray],
    names: Sequence[str],
    **options: Any,
) -> MultiLIF:
    """Create the fully connected layers."""
    made = MultiLIF(
        inputs=int(weights_array(weights, names[0]).shape[0]),
        layers=layers[:-1],
        readout=layers[-1],
        reset=network["reset"],
        reset_gradient=network["reset_gradient"],
        reset_on=network["reset_on"],
        surrogate=surrogate_config(network),
        **options,
    )
    made.set_kernels(
        [
            weights_array(weights, names[shape.layer] + _SUFFIXES[shape.role])
            for shape in weight_shapes(made.network)
        ]
    )
    return made


def _layer(
    name: str,
    described: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    capacity: Optional[int],
    before: int,
) -> Layer:
    """Create a layer behind `before` convolutions from its fields in the spec.

    Its trained constants are within bounds.
    """
    spiking = described["kind"] != "leaky"
    known = {field.name for field in fields(LIF if spiking else LeakyReadout)}
    values = {key: _number(value) for key, value in described.items() if key in known}
    values["residual"] = [number - 1 - before for number in described["residual"]]
    values["neurons"] = int(weights_array(weights, name).shape[1])
    values["delays"] = connection_delays(described)
    adaptation = described.get("adaptation")  # a leaky readout has none
    if adaptation is not None:
        values["adaptation_strength"] = _number(adaptation["strength"])
        values["adaptation_decay"] = _number(adaptation["decay"])
        values["detach_adaptation"] = adaptation["detach"]
    for constant, bounds in BOUNDS.items():
        if f"{name}_{constant}" in weights:
            trained = np.asarray(weights[f"{name}_{constant}"], np.float64)
            values[constant] = np.clip(trained, *bounds)
    if not spiking:
        return LeakyReadout(**values)
    if f"{name}_threshold" in weights:
        values["threshold"] = np.asarray(weights[f"{name}_threshold"], np.float64)
        if values["second_threshold"] is not None:
            values["threshold"] = np.maximum(values["threshold"], values["second_threshold"])
    if isinstance(values["capacity"], dict):
        values["capacity"] = values["capacity"]["grow"]
    if capacity is not None:
        values["capacity"] = capacity
    return LIF(**values)


def _number(value: Any) -> Any:
    return np.asarray(value, np.float64) if isinstance(value, (list, tuple)) else value
