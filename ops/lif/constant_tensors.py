"""A network's constants as tensors, fixed ones and those that training or a schedule changes."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import tensorflow as tf

from ops.lif.cpu.constants import constants as fixed_constants
from ops.lif.network import LIF, Network, per_neuron

GIVEN = ("decay", "threshold", "synapse_decay", "second_threshold")


class LayerTensors(NamedTuple):
    """float32 `[neurons]`; `[0]` where the layer has no such constant, None where it cannot."""

    decay: Any
    scale: Any
    synapse_decay: Any
    threshold: Optional[Any]
    second_threshold: Optional[Any]


def constant_tensors(
    network: Network, given: Optional[Sequence[Mapping[str, Any]]] = None
) -> List[LayerTensors]:
    """Of each layer and the readout.

    given: tensors that take the place of constants that the layer has.

    Raises ValueError if one is given that the layer does not have.
    """
    layers = [*network.layers, network.readout]
    given = [{}] * len(layers) if given is None else given
    if len(given) != len(layers):
        raise ValueError(f"constants must be of {len(layers)} layers; got {len(given)}")
    return [_of_layer(number, layer, given[number]) for number, layer in enumerate(layers)]


def _of_layer(number: int, layer: Any, given: Mapping[str, Any]) -> LayerTensors:
    for name in given:
        if name not in GIVEN or getattr(layer, name, None) is None:
            raise ValueError(f"layer {number} has no {name} to give")
    fixed = fixed_constants(layer)
    found = {**fixed._asdict(), **given}
    if "decay" in given:
        # In double, as the fixed ones are: rounded once.
        gain = per_neuron(layer.gain, layer.neurons, "gain")
        found["scale"] = tf.cast(gain * (1 - tf.cast(given["decay"], tf.float64)), tf.float32)
    nothing = np.zeros(0, np.float32)
    if found["synapse_decay"] is None:
        found["synapse_decay"] = nothing
    if isinstance(layer, LIF) and found["second_threshold"] is None:
        found["second_threshold"] = nothing
    return LayerTensors(**found)
