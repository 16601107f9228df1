"""The trained network of a job with layers of equations, as a Keras layer."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from ipulse_core.equations.neuron import read_neuron
from ipulse_core.spec.conv_layers import CONV_KINDS, conv_geometries, hidden_sizes, scale_before
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.part_layers import has_equations, is_recurrent
from ipulse_core.spec.resolved_spec import read_part
from ipulse_core.spec.start_weights import PARAMETER
from ipulse_core.spec.stretches import stretches_of
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras.convolutions.trained_convolutions import (
    connection_delays,
    layer_arrays,
    quantisation_config,
    standardises,
    surrogate_config,
    trained_convolution,
    weights_array,
)
from ipulse_ops.keras.equations_layer import EquationsConvolution, EquationsLayer
from ipulse_ops.keras.part_network import PartNetwork
from ipulse_ops.surrogate import surrogate_of

_Make = Callable[..., Any]


def trained_parts(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    capacities: Sequence[Optional[int]],
    make: _Make,
    **options: Any,
) -> PartNetwork:
    """Create the parts of a network with equations.

    The arguments are those of trained_network, the spec in its present form; options: threads.
    make: creates the parts without equations from the same arguments.

    Raises ValueError as trained_network, and for other options.
    """
    others = ", ".join(sorted(set(options) - {"threads"}))
    if others:
        raise ValueError(f"a network with equations takes the option threads only; got {others}")
    network = spec["network"]
    described = [*network["layers"], network["readout"]]
    names = [*(f"layer_{number}" for number in range(1, len(described))), "readout"]
    parts: List[Any] = []
    first = 0
    for at, layer in enumerate(described):
        is_conv = layer["kind"] in CONV_KINDS
        if not is_conv and not is_equations(layer):
            continue
        if at > first:
            parts.append(_dense(spec, weights, capacities, make, names, first, at, **options))
        if is_equations(layer):
            parts.append(_equations(spec, weights, at, **options, **_slots(spec, capacities, at)))
        else:
            slots = _slots(spec, capacities, at)
            parts.append(trained_convolution(spec, weights, at, slots=slots, **options))
        first = at + 1
    parts.append(_dense(spec, weights, capacities, make, names, first, len(names), **options))
    return PartNetwork(parts, stretches_of(read_part(spec)), name="network_of_parts")


def is_equations(layer: Mapping[str, Any]) -> bool:
    """Return whether a layer of a spec, as JSON, has equations."""
    return has_equations(read_part(layer))


def _dense(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    capacities: Sequence[Optional[int]],
    make: _Make,
    names: Sequence[str],
    first: int,
    end: int,
    **options: Any,
) -> Any:
    """Create the layers from `first` to `end` - 1 as a network of which the last is the readout."""
    network = spec["network"]
    described = [*network["layers"], network["readout"]][first:end]
    own = [*(f"layer_{number}" for number in range(1, end - first)), "readout"]
    renamed: Dict[str, np.ndarray] = {}
    for name, new in zip(names[first:end], own):
        for key, array in weights.items():
            if key == name or key.startswith(f"{name}_"):
                renamed[new + key[len(name) :]] = array
    delay = network["delay"] if len(own) > 1 else 0
    described = [
        {
            **layer,
            "residual": [number - first for number in layer["residual"] if number > first],
        }
        for layer in described
    ]
    if described[0]["delay"] is not None:
        described[0] = {**described[0], "delay": 0}  # the network delays the spikes to its parts
    scale = scale_before(read_part(spec), first)
    if scale != 1.0:
        options["input_scale"] = scale
    inner = {**network, "layers": described[:-1], "readout": described[-1], "delay": delay}
    return make({**spec, "network": inner}, renamed, capacities[first:end], **options)


def _slots(
    spec: Mapping[str, Any], capacities: Sequence[Optional[int]], index: int
) -> Dict[str, Any]:
    """Return the arguments that limit the spikes of hidden layer `index`, from 0."""
    layer = spec["network"]["layers"][index]
    capacity = layer.get("capacity")
    if capacity is None:
        return {}
    if isinstance(capacity, Mapping):
        capacity = capacity["grow"]
    if index < len(capacities) and capacities[index] is not None:
        capacity = capacities[index]
    return {
        "capacity": capacity,
        "policy": field_of(read_part(layer), "policy"),
        "seed": spec["seed"],
    }


def _equations(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    index: int,
    threads: int = 1,
    **slots: Any,
) -> Union[EquationsLayer, EquationsConvolution]:
    """Create hidden layer `index`, from 0."""
    document, described = spec["network"]["layers"][index], read_part(spec)
    neuron = read_neuron(read_part(document["neuron"]))
    name, bias = f"layer_{index + 1}", bool(document["bias"])
    geometries = conv_geometries(described)
    geometry = geometries[index] if index < len(geometries) else None
    is_own = is_recurrent(described.network.layers[index])
    layer = LayerEquations(
        neuron,
        hidden_sizes(described)[index],
        surrogate_of(surrogate_config(spec["network"])),
        spec["training"]["truncate_steps"],
        is_own,
        document["gate"],
        document.get("filters"),
        geometry.recurrent if geometry is not None and is_own else None,
    )
    arrays = layer_arrays(weights, name, layer.recurrent, bias)
    scale = scale_before(described, index)
    weights_as: Dict[str, Any] = {
        "quantisation": quantisation_config(document),
        "standardised": standardises(document),
        "name": name.replace("_", ""),
        **slots,
    }
    delays = connection_delays(document)
    if delays is not None:
        arrays.append(weights_array(weights, f"{name}_delays"))
        weights_as["delays"] = delays
    made: Union[EquationsLayer, EquationsConvolution]
    if geometry is None:
        made = EquationsLayer(len(arrays[0]), layer, bias, threads, input_scale=scale, **weights_as)
    else:
        made = EquationsConvolution(geometry, layer, bias, threads, scale, **weights_as)
    made.set_kernels(arrays)
    trained = [each.name for each in neuron.trained]
    values = {each: weights_array(weights, f"{name}{PARAMETER}{each}") for each in trained}
    made.set_parameters(values)
    return made
