"""The constants of a network as tensors: fixed, trained or changed by a schedule."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.layer_constants import constants as fixed_constants
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.neuron_constants import per_neuron

GIVEN = (*CONSTANTS, "second_threshold")


class LayerTensors(NamedTuple):
    """Constants of a layer, float32 `[neurons]`.

    A constant that the layer does not have is `[0]`, or None if its kind of layer never has it.
    """

    decay: Any
    scale: Any
    synapse_decay: Any
    threshold: Optional[Any]
    second_threshold: Optional[Any]
    adaptation_decay: Optional[Any]
    adaptation_strength: Optional[Any]


def constant_tensors(
    network: Network, given: Optional[Sequence[Mapping[str, Any]]] = None
) -> List[LayerTensors]:
    """Return the constants of each layer and the readout.

    given: tensors that replace constants, as for checked_constants.

    Raises what checked_constants raises.
    """
    layers = [*network.layers, network.readout]
    return [_of_layer(*pair) for pair in zip(layers, checked_constants(network, given))]


def checked_constants(
    network: Network, given: Optional[Sequence[Mapping[str, Any]]]
) -> List[Dict[str, Any]]:
    """Return the tensors that replace constants, per layer and readout.

    given: one mapping per layer and readout, or None for no replacement.

    Raises ValueError for a constant that the layer does not have, or a shape other than
    `[neurons]`.
    """
    layers = [*network.layers, network.readout]
    given = [{}] * len(layers) if given is None else given
    if len(given) != len(layers):
        raise ValueError(f"constants must be of {len(layers)} layers; got {len(given)}")
    found: List[Dict[str, Any]] = []
    for number, (layer, of_layer) in enumerate(zip(layers, given)):
        found.append({})
        for name, value in of_layer.items():
            if name not in GIVEN or getattr(layer, name, None) is None:
                raise ValueError(f"layer {number + 1} has no {name} to give")
            tensor = tf.convert_to_tensor(value, tf.float32)
            if not tensor.shape.is_compatible_with([layer.neurons]):
                raise ValueError(
                    f"constants[{number}]: {name} must have shape ({layer.neurons},); "
                    f"got {tuple(tensor.shape)}"
                )
            found[-1][name] = tensor
    return found


def _of_layer(layer: Any, given: Mapping[str, Any]) -> LayerTensors:
    fixed = fixed_constants(layer)
    found = {**fixed._asdict(), **given}
    if "decay" in given:
        # In float64 like the fixed constants, so that it is rounded once.
        gain = per_neuron(layer.gain, layer.neurons, "gain")
        decay = tf.cast(given["decay"], tf.float64)
        scale = tf.where(decay == 1, tf.constant(gain), gain * (1 - decay))
        found["scale"] = tf.cast(scale, tf.float32)
    nothing = np.zeros(0, np.float32)
    if found["synapse_decay"] is None:
        found["synapse_decay"] = nothing
    if isinstance(layer, LIF):
        for name in ("second_threshold", "adaptation_decay", "adaptation_strength"):
            if found[name] is None:
                found[name] = nothing
    return LayerTensors(**found)
