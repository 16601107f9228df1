"""The convolutions of a job's trained network as Keras layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_layers import conv_geometries, conv_layers, input_scale
from ipulse_ops.conv.layer import ConvLIF
from ipulse_ops.keras.convolutions.convolution import Convolution
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
    described = namespace(spec)
    network = described.network
    surrogate = surrogate_of(surrogate_config(spec["network"]))
    found: List[Convolution] = []
    scale = 1.0
    geometries = conv_geometries(described)
    for number, (layer, geometry) in enumerate(zip(conv_layers(network), geometries), start=1):
        made = Convolution(
            ConvLIF(
                geometry=geometry,
                decay=layer.decay,
                threshold=layer.threshold,
                second_threshold=layer.second_threshold,
                gain=layer.gain,
                bias=layer.bias,
                input_scale=scale,
                reset=network.reset,
                reset_gradient=network.reset_gradient,
                delay=network.delay if number > 1 else 0,
                surrogate=surrogate,
            ),
            name=f"convolution_{number}",
            quantisation=quantisation_config(spec["network"]["layers"][number - 1]),
            **options,
        )
        names = [f"layer_{number}", *([f"layer_{number}_bias"] if layer.bias else [])]
        made.set_kernels([weights_array(weights, name) for name in names])
        found.append(made)
        scale = input_scale(layer)
    return found, scale


def surrogate_config(network: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the surrogate of a spec's network as ipulse_ops.surrogate.surrogate_of takes it."""
    surrogate = dict(network["surrogate"])
    return {"kind": surrogate.pop("name"), **surrogate}


def quantisation_config(layer: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """Return the fields of ipulse_ops.quantisation.Quantisation of a layer of a spec, or None."""
    rule = layer.get("quantisation")  # specs of older jobs lack it
    return None if rule is None else dict(rule)


def weights_array(weights: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return an array of a weights.npz, float32. Raises ValueError if it is missing."""
    if name not in weights:
        raise ValueError(f"the weights have no array {name}")
    return np.asarray(weights[name], np.float32)


def namespace(value: Any) -> Any:
    """Return a JSON document with its objects as namespaces and its lists as tuples."""
    if isinstance(value, Mapping):
        return SimpleNamespace(**{str(name): namespace(item) for name, item in value.items()})
    return tuple(map(namespace, value)) if isinstance(value, (list, tuple)) else value
