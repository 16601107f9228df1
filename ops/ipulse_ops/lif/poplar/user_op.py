"""Runs LIF networks in TensorFlow with the Poplar op, on emulated IPUs or Graphcore's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.lif.constant_tensors import LayerTensors, constant_tensors
from ipulse_ops.lif.network import Layer, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import CONSTANTS, Wanted, attributes_of, needs_seed
from ipulse_ops.lif.poplar.outputs import output_specs, output_type, steps_between_checkpoints
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.sparse.seed import words32

PrecompiledUserOp = Callable[..., List[Any]]


def run_user_op(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    precompiled_user_op: PrecompiledUserOp,
    built: BuiltOp,
    constants: Optional[Sequence[Mapping[str, Any]]] = None,
    seed: Any = 0,
    return_membranes: bool = False,
    placement: Placement = Placement(),
    memory: str = "slots",
    states: str = "float",
) -> LIFOutputs:
    """Run a network as ipulse_ops.lif.tensorflow_op.run_network does.

    ids, counts: spikes with static shapes, `[time, batch, slots]` and `[time, batch]`.
    precompiled_user_op: the function of Graphcore's TensorFlow or of the emulator.
    built: the op's library and codelets.
    memory: "recompute" stores checkpoints, from which the backward pass runs the steps again.
    states: type of the states between steps, as in Wanted.

    Raises UnsupportedNetwork, and what precompiled_user_op raises.
    """
    ids, counts = tf.convert_to_tensor(ids), tf.convert_to_tensor(counts)
    has_port = ids.dtype.is_floating
    dtype = tf.float32 if has_port else tf.int32
    ids, counts = tf.cast(ids, dtype), tf.cast(counts, dtype)
    steps, batch, slots = ids.shape.as_list()
    given = {name for of_layer in constants or () for name in of_layer} - {"second_threshold"}
    wanted = Wanted(return_membranes, has_port, bool(given), states=states)
    if memory == "recompute":
        between = steps_between_checkpoints(network, steps, batch, wanted, placement)
        wanted = replace(wanted, recompute=between)
    inputs, places = entering(network, weights, ids, counts, constants, seed, wanted)
    attributes = attributes_of(network, slots, placement, wanted)
    specs = output_specs(network, steps, batch, wanted, placement)
    outputs = precompiled_user_op(
        inputs,
        str(built.library),
        gp_path=str(built.codelets),
        outs={
            "output_types": [tf.as_dtype(output_type(name, wanted)) for name, _, _ in specs],
            "output_shapes": [tf.TensorShape(shape) for _, _, shape in specs],
        },
        name="ipulse_lif",
        inputs_with_gradients=places,
        attributes=attributes,
        gradient_attributes=attributes,
    )
    return outputs_of(specs, outputs)


def entering(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    constants: Optional[Sequence[Mapping[str, Any]]],
    seed: Any,
    wanted: Wanted,
) -> Tuple[List[Any], List[int]]:
    """Return the op's inputs, and the positions of those with gradients."""
    inputs: List[Any] = [ids, counts]
    if needs_seed(network, wanted.states):
        inputs.append(words32(seed))
    places: List[int] = [0] if wanted.input_gradients else []
    shapes = weight_shapes(network)
    for number, tensors in enumerate(constant_tensors(network, constants)):
        for weight, shape in zip(weights, shapes):
            if shape.layer == number:
                places.append(len(inputs))
                inputs.append(weight)
        layer = (*network.layers, network.readout)[number]
        for name, tensor in _constants(layer, tensors):
            if wanted.constant_gradients and name != "second_threshold":
                places.append(len(inputs))
            inputs.append(tensor)
    return inputs, places


def outputs_of(
    specs: Sequence[Tuple[str, int, Tuple[int, ...]]], outputs: Sequence[Any]
) -> LIFOutputs:
    """Return the op's outputs by name; `specs` are those of output_specs."""
    by_name: Dict[str, List[Any]] = {}
    for (name, _, _), tensor in zip(specs, outputs):
        by_name.setdefault(name, []).append(tensor)
    membrane, *membranes = by_name["membrane"]  # the readout comes first
    return LIFOutputs(
        membrane=membrane,
        spike_ids=by_name.get("spike_ids", []),
        spike_counts=by_name.get("spike_counts", []),
        dropped=by_name.get("dropped", []),
        membranes=membranes,
    )


def _constants(layer: Layer, tensors: LayerTensors) -> Iterator[Tuple[str, Any]]:
    """Yield names and tensors in the order of the op's inputs."""
    yield "decay", tensors.decay
    yield "scale", tensors.scale
    for name in CONSTANTS:
        if getattr(layer, name, None) is not None:
            yield name, getattr(tensors, name)
