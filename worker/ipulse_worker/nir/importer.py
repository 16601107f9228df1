"""Turns a NIR graph into the network of an experiment spec and its initial weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from ipulse_worker.nir.discretization import Options, discretization_of
from ipulse_worker.nir.errors import NirInvalid, at_node
from ipulse_worker.nir.hdf5_file import Graph, read_graph
from ipulse_worker.nir.layers import ImportedLayer, layer_of
from ipulse_worker.nir.linear_map import Shape
from ipulse_worker.nir.node_fields import numbers
from ipulse_worker.nir.structure import NodePath, chain_of


@dataclass(frozen=True)
class ImportedNetwork:
    """The result of an import."""

    network: Dict[str, Any]  # of a spec, without `initial`
    weights: Dict[str, np.ndarray]  # float32, by the names of weights.npz
    inputs: int
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
    inputs = math.prod(shape)
    layers: List[ImportedLayer] = []
    earlier: Dict[str, Tuple[int, Shape]] = {}
    for number, unit in enumerate(chain, start=1):
        is_last = unit is chain[-1]
        name = "readout" if is_last else f"layer_{number}"
        layer = layer_of(unit, name, shape, discretization, is_last, earlier)
        layers.append(layer)
        shape = layer.shape
        earlier[unit.name] = (number, shape)
    _check_end(onward)
    if len(layers) < 2:
        raise at_node(
            chain[0].name, "it is the only layer: IPUlse needs a hidden layer and a readout"
        )
    return ImportedNetwork(
        network=_network(layers),
        weights={name: array for layer in layers for name, array in layer.weights.items()},
        inputs=inputs,
        classes=math.prod(shape),
        step_ms=discretization.step_ms,
        metadata={
            key: value if isinstance(value, str) else np.ravel(value)[0].item()
            for key, value in graph.metadata.items()
            if isinstance(value, str) or np.size(value) == 1
        },
        notes=[*discretization.notes, *(note for layer in layers for note in layer.notes)],
    )


def _network(layers: Sequence[ImportedLayer]) -> Dict[str, Any]:
    """Return the network of a spec; its reset is that of all layers."""
    delays = [layer.delay for layer in layers]
    is_one = delays == [0, *[delays[1]] * (len(layers) - 1)]
    fields = [
        layer.fields if is_one else {**layer.fields, "delay": layer.delay} for layer in layers
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
