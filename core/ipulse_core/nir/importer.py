"""Turns a NIR graph into the network of an experiment spec and its initial weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import numpy as np

from ipulse_core.nir.convolutions import Convolutions, by_rows, leading_convolutions
from ipulse_core.nir.discretization import (
    Discretization,
    Options,
    ambiguous,
    discretizations_of,
)
from ipulse_core.nir.errors import NirInvalid, at_node
from ipulse_core.nir.hdf5_file import Graph, read_graph
from ipulse_core.nir.layers import ImportedLayer, layer_of
from ipulse_core.nir.linear_map import Shape
from ipulse_core.nir.node_fields import numbers
from ipulse_core.nir.relays import DECAY, THRESHOLD, with_relays
from ipulse_core.nir.structure import NodePath, Unit, chain_of, is_addition
from ipulse_core.spec.start_weights import DELAYS

MAX_RELAY = 4096  # neurons of a layer that repeats the input


@dataclass(frozen=True)
class ImportedNetwork:
    """The result of an import."""

    network: Dict[str, Any]  # of a spec, without `initial`
    weights: Dict[str, np.ndarray]  # float32, by the names of weights.npz
    # For each layer the node that emits and its number of neurons; "" for a layer that repeats.
    nodes: List[Tuple[str, int]]
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
        NirAmbiguous: the file does not tell what its neurons do, and the options do not, either.
    """
    graph = read_graph(path)
    found = discretizations_of(graph, options)
    first, *others = [partial(_imported, graph, each) for each in found]
    if not others:
        return first()
    outcome = _outcome(first)
    if any(not _is_equal(outcome, _outcome(other)) for other in others):
        raise ambiguous(found)
    return first() if isinstance(outcome, str) else outcome


Outcome = Union[ImportedNetwork, str]


def _outcome(run: Callable[[], ImportedNetwork]) -> Outcome:
    """Return the network, or why there is none."""
    try:
        return run()
    except NirInvalid as error:
        return error.message


def _is_equal(one: Outcome, other: Outcome) -> bool:
    """Return whether two networks spike alike, or fail for the same reason."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return one.network == other.network and all(
        np.array_equal(array, other.weights[name]) for name, array in one.weights.items()
    )


def _imported(graph: Graph, discretization: Discretization) -> ImportedNetwork:
    """Return the network of a graph whose neurons are solved in one way."""
    start, chain, onward = chain_of(graph)
    if not chain:
        raise NirInvalid("the graph has no neurons")
    shape = _input_shape(graph, start)
    layers = _layers(start, chain, shape, discretization)
    _check_end(onward)
    nodes = [(unit.name, math.prod(layer.shape)) for unit, layer in zip(chain, layers)]
    layers = with_relays(layers, math.prod(shape))
    if len(layers) == 1:
        layers = [_relay(chain[0].name, math.prod(shape)), *layers]
        nodes = [("", math.prod(shape)), *nodes]
    return ImportedNetwork(
        network=_network(layers),
        weights={name: array for layer in layers for name, array in layer.weights.items()},
        nodes=nodes,
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


def _relay(name: str, inputs: int) -> ImportedLayer:
    """Return a hidden layer that repeats the input in the same step, for a network of one layer.

    Raises:
        NirInvalid: its matrix would be too large.
    """
    if inputs > MAX_RELAY:
        raise at_node(
            name,
            f"it is the only layer and has {inputs:,} inputs: the hidden layer that repeats them, "
            f"which a spec needs, has at most {MAX_RELAY:,} neurons",
        )
    fields = {"neurons": inputs, "decay": DECAY, "threshold": THRESHOLD, "gain": 1.0}
    fields["trainable"] = False
    note = "layer_1 repeats the input, because a spec has a hidden layer; it is not trained"
    weights = {"layer_1": np.eye(inputs, dtype=np.float32)}
    return ImportedLayer(fields, (inputs,), None, 0, weights, [f"{name}: {note}"])


def _layers(
    start: str, chain: Sequence[Unit], shape: Shape, discretization: Discretization
) -> List[ImportedLayer]:
    """Return the layers, with convolutions where a spec can have them."""
    first = leading_convolutions(chain, shape, discretization)
    convolutions = {start, *(unit.name for unit in chain[: len(first.layers)])}
    if first.layers and any(convolutions & set(unit.residual) for unit in first.rest):
        first = Convolutions([], list(chain), shape)  # only spikes of dense layers are added
    return [*first.layers, *_dense(start, first, discretization)]


def _dense(start: str, first: Convolutions, discretization: Discretization) -> List[ImportedLayer]:
    """Return the layers behind convolutions."""
    layers: List[ImportedLayer] = []
    earlier: Dict[str, Tuple[int, Shape]] = {start: (0, first.shape)}
    has_skips = any(
        source == start or not is_addition(unit, source)
        for unit in first.rest
        for source in unit.residual
    )
    shape, before = first.shape, len(first.layers)
    for number, unit in enumerate(first.rest, start=before + 1):
        is_last = unit is first.rest[-1]
        name = "readout" if is_last else f"layer_{number}"
        layer = layer_of(unit, name, shape, discretization, is_last, earlier, has_skips)
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
        "delay": max(delays) if is_one else 0,
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
