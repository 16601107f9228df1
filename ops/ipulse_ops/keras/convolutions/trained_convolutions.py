"""The convolutions of a job's trained network as Keras layers."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from ipulse_core.spec.composed_layers import is_composed_convolution
from ipulse_core.spec.conv_layers import conv_geometries, conv_layers, scale_before
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.resolved_spec import read_part
from ipulse_ops.keras.convolutions.composed import ComposedConvolution
from ipulse_ops.keras.convolutions.composed_of_spec import composed_of_spec
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.surrogate import surrogate_of


def trained_convolutions(
    spec: Mapping[str, Any], weights: Mapping[str, np.ndarray], **options: Any
) -> Tuple[List[Convolution], float]:
    """Create the convolutions of a job with their weights.

    spec, weights: as for ipulse_ops.keras.trained_network.
    options: threads and time_major.

    Returns the layers, and the factor of the weights behind the last.

    Raises ValueError if an array is missing or has another shape.
    """
    described = read_part(spec)
    count = len(conv_layers(described.network))
    delays = input_delays(described.network)[:count]
    found = [
        trained_convolution(spec, weights, index, delay=delay, **options)
        for index, delay in enumerate(delays)
    ]
    return found, scale_before(described, count)


def trained_convolution(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    index: int,
    delay: int = 0,
    slots: Mapping[str, Any] = {},
    **options: Any,
) -> Union[Convolution, ComposedConvolution]:
    """Create hidden layer `index`, from 0, a convolution with LIF neurons, with its weights.

    slots: of a convolution that runs as two ops, its capacity, policy and seed.

    Raises what trained_convolutions raises.
    """
    described = read_part(spec)
    network, layer = described.network, described.network.layers[index]
    document = spec["network"]["layers"][index]
    surrogate = surrogate_of(surrogate_config(spec["network"]))
    weights_options: Dict[str, Any] = {
        "quantisation": quantisation_config(document),
        "standardised": standardises(document),
    }
    name = f"layer_{index + 1}"
    if is_composed_convolution(described, index):
        weights_options.update(slots)
        delays = connection_delays(document)
        arrays = layer_arrays(weights, name, is_recurrent(layer), layer.bias)
        if delays is not None:
            weights_options["delays"] = delays
            arrays.append(weights_array(weights, f"{name}_delays"))
        composed = composed_of_spec(described, index, surrogate, **weights_options, **options)
        composed.set_kernels(arrays)
        composed.set_constants(
            {each: weights_array(weights, f"{name}_{each}") for each in composed.constants}
        )
        return composed
    made = Convolution(
        ConvLIF(
            geometry=conv_geometries(described)[index],
            decay=layer.decay,
            threshold=layer.threshold,
            second_threshold=layer.second_threshold,
            gain=layer.gain,
            bias=layer.bias,
            input_scale=scale_before(described, index),
            reset=network.reset,
            reset_gradient=network.reset_gradient,
            delay=delay,
            surrogate=surrogate,
        ),
        name=f"convolution_{index + 1}",
        **weights_options,
        **options,
    )
    made.set_kernels(layer_arrays(weights, name, bias=layer.bias))
    return made


def surrogate_config(network: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the surrogate of a spec's network as ipulse_ops.surrogate.surrogate_of takes it."""
    surrogate = dict(network["surrogate"])
    return {"kind": surrogate.pop("name"), **surrogate}


def connection_delays(layer: Mapping[str, Any]) -> Optional[ConnectionDelays]:
    """Return the delays of the connections of a layer of a spec, as JSON; None without them."""
    delays = layer.get("delays")
    if delays is None:
        return None
    return ConnectionDelays(delays["longest"], delays["per"], delays["rounded"])


def quantisation_config(layer: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """Return the fields of ipulse_ops.quantisation.Quantisation of a layer of a spec, or None."""
    rule = layer.get("quantisation")
    return None if rule is None else dict(rule)


def standardises(layer: Mapping[str, Any]) -> bool:
    """Return whether runs standardise the trained weights of a layer of a spec, as JSON.

    Integers of standardised weights do not have mean 0: standardised again, they would be others.
    """
    return bool(layer.get("standardised")) and quantisation_config(layer) is None


def weights_array(weights: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return an array of a weights.npz, float32. Raises ValueError if it is missing."""
    if name not in weights:
        raise ValueError(f"the weights have no array {name}")
    return np.asarray(weights[name], np.float32)


def layer_arrays(
    weights: Mapping[str, np.ndarray], name: str, recurrent: bool = False, bias: bool = False
) -> List[np.ndarray]:
    """Return the arrays of a layer: its weights, the recurrent ones and its bias, if it has them.

    Raises ValueError if one is missing.
    """
    names = [name, *[f"{name}_recurrent"] * recurrent, *[f"{name}_bias"] * bias]
    return [weights_array(weights, each) for each in names]
