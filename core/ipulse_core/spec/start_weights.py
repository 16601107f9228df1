"""The arrays that a network's training begins with: names, shapes, and what does not fit.

The names are those of weights.npz: layer_1, layer_1_recurrent, layer_1_bias, layer_1_decay, ...,
readout. The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner
reads.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ipulse_core.neurons.constants import BY_NAME, TRAINED
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    conv_layers,
    dense_layers,
    senders_to_dense,
)
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import class_count
from ipulse_core.spec.kind_fields import attribute_of, field_of
from ipulse_core.spec.part_layers import has_own_neurons

Shape = Tuple[int, ...]
CONSTANTS = TRAINED  # of neurons, which can be trained
DELAYS = "_delays"  # ending of the delays of a layer's connections
# Endings of arrays that repeat quantised weights.
INTEGERS, SCALE = "_integers", "_scale"
# Between the names of a layer and of a parameter of its neurons' equations.
PARAMETER = "_parameter_"


def constant_of(layer: Any, name: str) -> Any:
    """Returns a constant of a layer of a spec by its name in CONSTANTS; None if it has none."""
    found = layer
    for field in BY_NAME[name].path:
        found = attribute_of(found, field, None)
    return found


def trained_constants(network: Any, layer: Any) -> List[str]:
    """Returns the names of the constants of a layer that are trained, in the order of CONSTANTS."""
    trained = [name for name in CONSTANTS if name in network.trainable]
    if has_own_neurons(layer):
        return []
    return [name for name in trained if constant_of(layer, name) is not None]


def layer_names(network: Any) -> List[str]:
    """Returns the names of the layers in arrays: layer_1, layer_2, ... and readout."""
    return [*(f"layer_{number}" for number in range(1, len(network.layers) + 1)), "readout"]


def connection_delays(network: Any) -> Dict[str, Any]:
    """Returns the delays of connections by the name of their array."""
    layers = zip(layer_names(network), [*network.layers, network.readout])
    found = {f"{name}{DELAYS}": field_of(layer, "delays") for name, layer in layers}
    return {name: delays for name, delays in found.items() if delays is not None}


def op_weight_name(index: int, name: str) -> str:
    """Returns the name of an array of a custom op's own: layer_2.gain of the second layer.

    A dot is in no other name.
    """
    return f"layer_{index + 1}.{name}"


def is_op_weight(name: str) -> bool:
    """Returns whether an array is of a custom op's own."""
    return "." in name


def start_shapes(spec: Any, of_ops: Mapping[int, Mapping[str, Shape]] = {}) -> Dict[str, Shape]:
    """Returns the shape of every array that the training of a spec changes, by name.

    of_ops: for each index of a custom op, the shapes of its weights by their names in the op.
    """
    network = spec.network
    shapes: Dict[str, Shape] = {}
    geometries = conv_geometries(spec)
    for name, layer, geometry in zip(layer_names(network), conv_layers(network), geometries):
        shapes[name] = geometry.weights
        if field_of(layer, "recurrent"):
            shapes[f"{name}_recurrent"] = geometry.recurrent.weights
        if layer.bias:
            shapes[f"{name}_bias"] = (geometry.filters,)
        delays = field_of(layer, "delays")
        if delays is not None:
            of_channels = (geometry.entering.channels,)
            shapes[f"{name}{DELAYS}"] = geometry.weights if delays.per == "synapse" else of_channels
        for constant in trained_constants(network, layer):
            shapes[f"{name}_{constant}"] = (geometry.filters,)
        shapes.update(_parameter_shapes(name, layer, geometry.filters))
    senders = senders_to_dense(spec)
    names = layer_names(network)[len(geometries) :]
    dense = [*dense_layers(network), network.readout]
    for index, (name, layer) in enumerate(zip(names, dense), start=len(geometries)):
        neurons = field_of(layer, "neurons") or class_count(spec.data)
        if is_op(layer):
            own = of_ops.get(index, {})
            shapes.update({op_weight_name(index, weight): own[weight] for weight in own})
            senders = neurons
            continue
        shapes[name] = (senders, neurons)
        if field_of(layer, "recurrent"):
            shapes[f"{name}_recurrent"] = (neurons, neurons)
        if layer.bias:
            shapes[f"{name}_bias"] = (neurons,)
        shapes.update(_parameter_shapes(name, layer, neurons))
        delays = field_of(layer, "delays")
        if delays is not None:
            shapes[f"{name}{DELAYS}"] = (senders, neurons)[: 2 if delays.per == "synapse" else 1]
        for constant in trained_constants(network, layer):
            shapes[f"{name}_{constant}"] = (neurons,)
        senders = neurons
    return shapes


def _parameter_shapes(name: str, layer: Any, each: int) -> Dict[str, Shape]:
    """Returns the shapes of the trained parameters of own neurons; `each`: filters or neurons."""
    if not has_own_neurons(layer):
        return {}
    return {
        f"{name}{PARAMETER}{parameter.name}": (each if parameter.per == "neuron" else 1,)
        for parameter in layer.neuron.parameters
        if parameter.trainable
    }


def is_constant(name: str) -> bool:
    """Returns whether an array is a constant of neurons, which also has a value in the spec."""
    if is_op_weight(name):
        return False
    return is_parameter(name) or any(name.endswith(f"_{constant}") for constant in CONSTANTS)


def is_parameter(name: str) -> bool:
    """Returns whether an array is a trained parameter of neurons with equations."""
    return PARAMETER in name and not is_op_weight(name)


def repeats(name: str) -> Optional[str]:
    """Returns the name of the weights that an array of integers or scales repeats, or None."""
    for ending in (INTEGERS, SCALE):
        if name.endswith(ending) and not is_parameter(name) and not is_op_weight(name):
            return name[: -len(ending)]
    return None


def mismatches(ours: Mapping[str, Shape], theirs: Mapping[str, Shape]) -> List[str]:
    """Lists what does not fit, in sentences.

    Args:
        ours: The result of `start_shapes`.
        theirs: The shapes of the arrays to begin with. Constants may be missing: the training
            then begins with those of the spec.
    """
    found = []
    for name, shape in ours.items():
        if name not in theirs:
            if not is_constant(name):
                found.append(f"{name} is missing")
        elif theirs[name] != shape:
            sizes = f"{size_text(theirs[name])}, and the network needs {size_text(shape)}"
            found.append(f"{name} is {sizes}")
    for name in theirs:
        if name not in ours:
            trains = ""
            if is_parameter(name):
                trains = ": a neuron has it if the parameter is in its equations and is trainable"
            elif is_constant(name):
                trains = ": list it in network.trained_constants"
            found.append(f"the network has no {name}{trains}")
    return found


def size_text(shape: Shape) -> str:
    """Returns a shape for a message, such as 700 x 128."""
    return " x ".join(f"{size:,}" for size in shape) or "one number"
