"""The constants of a network as tensors: fixed, trained or changed by a schedule."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_core.neurons.constants import ROWS, constants_of
from ipulse_ops.lif.layer_constants import LayerConstants
from ipulse_ops.lif.layer_constants import constants as fixed_constants
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.neuron_constants import per_neuron

# Constants that may be given as tensors: all but the gain, which is a part of the scale.
GIVEN = tuple(row.name for row in ROWS if row.array == row.name)


class LayerTensors(LayerConstants):
    """Constants of a layer, float32 `[neurons]`, by the names of their arrays.

    A constant that the layer does not have is `[0]`, or None if its kind of layer never has it.
    """


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


def scale_of(layer: Any, decay: Any) -> Any:
    """Return the factor of the currents of a layer from its decays, float32 `[neurons]`.

    It is computed in float64 like the fixed constants, so that it is rounded once.
    """
    gain = per_neuron(layer.gain, layer.neurons, "gain")
    decay = tf.cast(decay, tf.float64)
    return tf.cast(tf.where(decay == 1, tf.constant(gain), gain * (1 - decay)), tf.float32)


def _of_layer(layer: Any, given: Mapping[str, Any]) -> LayerTensors:
    fixed = fixed_constants(layer)
    found = {**vars(fixed), **given}
    if "decay" in given:
        found["scale"] = scale_of(layer, given["decay"])
    nothing = np.zeros(0, np.float32)
    for row in constants_of(isinstance(layer, LIF)):
        if found[row.array] is None:
            found[row.array] = nothing
    return LayerTensors(**found)
