"""The trained network of a job with layers of equations, as a Keras layer."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

import numpy as np

from ipulse_core.equations.neuron import read_neuron
from ipulse_core.spec.start_weights import PARAMETER
from ipulse_ops.equations.keras_layer import EquationsLayer
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras.convolutions.trained_convolutions import (
    namespace,
    surrogate_config,
    weights_array,
)
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

    The arguments are those of trained_network; options: threads. make: trained_network itself,
    which creates the parts without equations.

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
        is_equations = layer.get("kind") == "equations"
        if is_equations:
            if at > first:
                parts.append(_dense(spec, weights, capacities, make, names, first, at, **options))
            parts.append(_equations(spec, weights, names[at], layer, **options))
            first = at + 1
    parts.append(_dense(spec, weights, capacities, make, names, first, len(names), **options))
    return PartNetwork(parts, network["delay"], name="network_of_parts")


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
    delay = network["delay"] if len(own) > 1 else 0  # that in front of a part is the network's
    inner = {**network, "layers": described[:-1], "readout": described[-1], "delay": delay}
    return make({**spec, "network": inner}, renamed, capacities[first:end], **options)


def _equations(
    spec: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    name: str,
    described: Mapping[str, Any],
    threads: int = 1,
) -> EquationsLayer:
    neuron = read_neuron(namespace(described["neuron"]))
    layer = LayerEquations(
        neuron,
        described["neurons"],
        surrogate_of(surrogate_config(spec["network"])),
        spec.get("training", {}).get("truncate_steps"),
        bool(described.get("recurrent")),  # specs of older jobs lack this and the next
        described.get("gate"),
    )
    arrays = [weights_array(weights, name)]
    if layer.recurrent:
        arrays.append(weights_array(weights, f"{name}_recurrent"))
    if described["bias"]:
        arrays.append(weights_array(weights, f"{name}_bias"))
    made = EquationsLayer(
        len(arrays[0]), layer, bool(described["bias"]), threads, name=name.replace("_", "")
    )
    made.set_kernels(arrays)
    trained = [each.name for each in neuron.trained]
    values = {each: weights_array(weights, f"{name}{PARAMETER}{each}") for each in trained}
    made.set_parameters(values)
    return made
