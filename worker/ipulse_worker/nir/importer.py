"""Turns a NIR graph into the network of an experiment spec and its initial weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from ipulse_core.spec.start_weights import DELAYS
from ipulse_worker.nir.convolutions import Convolutions, by_rows, leading_convolutions
from ipulse_worker.nir.discretization import Discretization, Options, discretization_of
from ipulse_worker.nir.errors import NirInvalid, at_node
from ipulse_worker.nir.hdf5_file import Graph, read_graph
from ipulse_worker.nir.layers import ImportedLayer, layer_of
from ipulse_worker.nir.linear_map import Shape
from ipulse_worker.nir.node_fields import numbers
from ipulse_worker.nir.structure import NodePath, Unit, chain_of


@dataclass(frozen=True)
class ImportedNetwork:
    """The result of an import."""

    network: Dict[str, Any]  # of a spec, without `initial`
    weights: Dict[str, np.ndarray]  # float32, by the names of weights.npz
    inputs: int
    input_shape: Shape  # of the graph's input
    classes: int
    step_ms: float
    metadata: Dict[str, Any]  # numbers and text of the file
    notes: List[str]  # what was assumed, and what the spec expresses by other means


def import_network(path: Path, options: Options) -> ImportedNetwork:
    """Read a NIR file.

    Raises:
        NirInvalid: the file or a node cannot be imported; the message names the node.
    """
    graph = read_graph(path)
    discretization = discretization_of(graph, options)
    start, chain, onward = chain_of(graph)
    if not chain:
        raise NirInvalid("the graph has no neurons")
    shape = _input_shape(graph, start)
    layers = _layers(chain, shape, discretization)
    _check_end(onward)
    if len(layers) < 2:
        raise at_node(
            chain[0].name, "it is the only layer: IPUlse needs a hidden layer and a readout"
        )
    return ImportedNetwork(
        network=_network(layers),
        weights={name: array for layer in layers for name, array in layer.weights.items()},
        inputs=math.prod(shape),
        input_shape=shape,
        classes=math.prod(layers[-1].shape),
        step_ms=discretization.step_ms,
        metadata={
            key: value if isinstance(value, str) else np.ravel(value)[0].item()
            for key, value in graph.metadata.items()
            if isinstance(value, str) or np.size(value) == 1
        },
        notes=[*discretization.notes, *(note for layer in layers for note in layer.notes)],
    )


def _layers(
    chain: Sequence[Unit], shape: Shape, discretization: Discretization
) -> List[ImportedLayer]:
    """Return the layers, with convolutions where a spec can have them."""
    first = leading_convolutions(chain, shape, discretization)
    convolutions = {unit.name for unit in chain[: len(first.layers)]}
    if any(convolutions & set(unit.residual) for unit in first.rest):
        first = Convolutions([], list(chain), shape)  # only spikes of dense layers are added
    return [*first.layers, *_dense(first, discretization)]


def _dense(first: Convolutions, discretization: Discretization) -> List[ImportedLayer]:
    """Return the layers behind convolutions."""
    layers: List[ImportedLayer] = []
    earlier: Dict[str, Tuple[int, Shape]] = {}
    shape, before = first.shape, len(first.layers)
    for number, unit in enumerate(first.rest, start=before + 1):
        is_last = unit is first.rest[-1]
        name = "readout" if is_last else f"layer_{number}"
        layer = layer_of(unit, name, shape, discretization, is_last, earlier)
        if before and not layers:
            for key in {name, f"{name}{DELAYS}"} & set(layer.weights):
                layer.weights[key] = by_rows(layer.weights[key], shape)
        layers.append(layer)
        shape = layer.shape
        earlier[unit.name] = (number, shape)
    return layers


def _has_one_delay(layers: Sequence[ImportedLayer]) -> bool:
    """Return whether spikes of layers take the same time, and those of the input none."""
    if any("delays" in layer.fields for layer in layers):
        return False
    delays = [layer.delay for layer in layers]
    return delays[:1] == [0] and len(set(delays[1:])) < 2


def _network(layers: Sequence[ImportedLayer]) -> Dict[str, Any]:
    """Return the network of a spec; its reset is that of all layers."""
    delays = [layer.delay for layer in layers]
    is_one = _has_one_delay(layers)
    has_residual = any("residual" in layer.fields for layer in layers)
    if has_residual and any("delays" in layer.fields for layer in layers):
        raise NirInvalid(
            "delays differ between the connections of a layer, and spikes of several layers are "
            "added: a network has one of the two"
        )
    if not is_one and has_residual:
        raise NirInvalid(
            f"spikes take {', '.join(map(str, delays))} steps to the layers, input side first: "
            "where spikes of several layers are added, all layers behind the first need one delay, "
            "and the input none"
        )
    fields = [
        layer.fields
        if is_one or "delays" in layer.fields
        else {**layer.fields, "delay": layer.delay}
        for layer in layers
    ]
    resets = {layer.reset for layer in layers if layer.reset is not None}
    if len(resets) > 1:
        raise NirInvalid(f"layers differ in their reset ({', '.join(sorted(resets))})")
    network: Dict[str, Any] = {
        "layers": fields[:-1],
        "readout": {
            "kind": "leaky" if layers[-1].reset is None else "spiking",
            **{key: value for key, value in fields[-1].items() if key != "neurons"},
        },
        "delay": delays[1] if is_one else 0,
    }
    if resets:
        network["reset"] = resets.pop()
    return network


def _input_shape(graph: Graph, start: str) -> Shape:
    shape = tuple(int(size) for size in np.ravel(numbers(graph.nodes[start], "shape")))
    if not shape or min(shape) < 1 or math.prod(shape) > 2**24:
        raise at_node(start, f"its shape {list(shape)} is empty or too large")
    return shape


def _check_end(onward: Sequence[NodePath]) -> None:
    for path in onward:
        for node in path.through:
            if node.type not in ("Identity", "Flatten"):
                raise at_node(
                    node.name,
                    "it is between the last neurons and the output: the output must be neurons",
                )
