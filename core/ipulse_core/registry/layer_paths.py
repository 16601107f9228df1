"""The fields of layers in both versions of a spec: one table of their places.

Version 1 has flat layers; in version 2 a layer is a list of connections and one neuron. The checks
and the runner read the flat form. Errors, settings, search and comparisons name fields by the
places of version 2, and accept those of version 1.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.neurons.constants import ROWS
from ipulse_core.registry.kinds import LAYER_KINDS, LayerKind, parts

LAYER, CONNECTION, NEURON, OP = "layer", "connection", "neuron", "op"
RECURRENT, SKIP = "recurrent", "skip"  # kinds of connections without input weights
POOLS = {"sum_pool": "sum", "average_pool": "average"}  # by the kinds of pools of version 1
WEIGHTED = ("dense", "conv1d", "conv2d")  # kinds of connections with input weights
# Names of layers. A layer without a name is called `layers[0]`, which this does not match.
LAYER_NAME = r"^[A-Za-z_][A-Za-z0-9_]*(?:[ .-][A-Za-z0-9_]+)*$"
Tokens = Tuple[str, ...]


class Place(NamedTuple):
    """Where version 2 has a field of a flat layer: in the layer itself or a part, and its name."""

    part: str
    name: str


# The places by the names of version 1, without those of AS_CONNECTIONS.
PLACES: Mapping[str, Place] = {
    **{name: Place(LAYER, name) for name in ("name", "neurons", "capacity", "policy")},
    "trainable": Place(LAYER, "trained"),
    **{
        name: Place(CONNECTION, name)
        for name in (
            *("filters", "kernel_size", "strides", "padding", "dilation_rate", "groups"),
            *("bias", "delay", "dropout", "standardised", "quantisation"),
        )
    },
    "delays": Place(CONNECTION, "delay"),
    **{row.path[0]: Place(NEURON, row.path[0]) for row in ROWS},
    "gate": Place(NEURON, "second_threshold"),
    "neuron": Place(NEURON, ""),
    "op": Place(OP, "name"),
    "attributes": Place(OP, "attributes"),
}
# The fields of layers that most networks set; pages and lists show the others under "more".
USUAL = (
    *(Place(LAYER, "neurons"), Place(CONNECTION, "filters"), Place(CONNECTION, "kernel_size")),
    *(Place(NEURON, "decay"), Place(NEURON, "threshold"), Place(NEURON, "second_threshold")),
    Place(LAYER, "capacity"),
)
# Fields of version 1 that are no fields in version 2: whole connections, or the kinds of parts.
AS_CONNECTIONS = ("kind", "recurrent", "residual", "pool")
# Names of version 1 and of version 2, in the parts of layers and in the network itself.
PARAMETER_NAMES = {"trainable": "trained"}
NETWORK_NAMES = {"trainable": "trained_constants"}


def place_of(field: str, kind: LayerKind) -> Place:
    """Returns the place of a field of a kind of layer; ops have their delay among their own."""
    place = PLACES[field]
    if kind.connections == "op" and place.part == CONNECTION:
        return Place(OP, place.name)
    return place


def field_at(place: Place, kind: LayerKind, value: Any = None) -> Optional[str]:
    """Returns the field of version 1 at a place, of this kind of layer or else of another.

    None if no layer has a field there. A delay that is an object is of single connections.
    """
    found = [field for field in PLACES if place_of(field, kind) == place]
    if place == Place(CONNECTION, "delay"):
        return "delays" if isinstance(value, dict) else "delay"
    has_own = kind.neurons in ("equations", "package")
    if place == Place(NEURON, "second_threshold"):
        return "gate" if has_own else "second_threshold"
    known = [field for field in found if field in kind.fields]
    return next(iter(known or found), None)


def names_in(part: str, kind: LayerKind) -> List[str]:
    """Returns the names of version 2 that a part of a kind of layer has."""
    has_own = kind.neurons in ("equations", "package")
    names: List[str] = []
    for field in kind.fields:
        if field not in PLACES or field == "neuron":
            continue
        place = place_of(field, kind)
        if place.part == NEURON and has_own != (field == "gate"):
            continue  # an unused constant, or a threshold of equations
        if place.part == part and place.name not in names:
            names.append(place.name)
    if part == NEURON and has_own:
        own = "PackageNeuronSpec" if kind.neurons == "package" else "NeuronSpec"
        names = [*parts()[own], *names]
    return names


def newer(tokens: Sequence[str]) -> Tokens:
    """Returns the path of version 2 for one of version 1, which may lack its begin.

    Where a layer has several connections, that with input weights is the first. Paths of what both
    versions have at the same place are returned as they are.
    """
    found = list(tokens)
    if found[:1] == ["network"] and len(found) > 1:
        found[1] = NETWORK_NAMES.get(found[1], found[1])
    at = _layer_end(found)
    if at is None or at >= len(found) or found[at] not in PLACES:
        return tuple(found)
    part, name = PLACES[found[at]]
    rest = found[at + 1 :]
    if part == OP and rest and found[at] == "op":  # a path of version 2
        return tuple(found)
    if found[at] == "neuron":
        rest = [PARAMETER_NAMES.get(each, each) for each in rest]
    begin: Dict[str, List[str]] = {
        LAYER: [],
        CONNECTION: ["connections", "0"],
        NEURON: ["neuron"],
        OP: ["op"],
    }
    return (*found[:at], *begin[part], *([name] if name else []), *rest)


def older(tokens: Sequence[str]) -> Iterator[Tokens]:
    """Yields the paths of version 1 that a path of version 2 may mean, the likeliest first."""
    found = list(tokens)
    network = {new: old for old, new in NETWORK_NAMES.items()}
    if found[:1] == ["network"] and len(found) > 1:
        found[1] = network.get(found[1], found[1])
    at = _layer_end(found)
    if at is None or at >= len(found):
        yield tuple(found)
        return
    begin, rest = found[:at], found[at:]
    if rest[0] == "connections" and len(rest) > 2:
        part, rest = CONNECTION, rest[2:]
        if rest[0] == "pool_size":
            yield from _pool_before(begin)
            return
    elif rest[0] in (NEURON, OP) and len(rest) > 1:
        part, rest = rest[0], rest[1:]
    else:
        part = LAYER
    name, rest = rest[0], rest[1:]
    for field, place in PLACES.items():
        if place == (part, name) or (part == OP and place == (CONNECTION, name)):
            yield (*begin, field, *rest)
    if part == NEURON:  # of equations and packages
        parameters = {new: old for old, new in PARAMETER_NAMES.items()}
        yield (*begin, "neuron", name, *(parameters.get(each, each) for each in rest))
    elif part == LAYER:
        yield tuple(found)


def kind_named(connections: str, neurons: str) -> Optional[LayerKind]:
    """Returns the kind of hidden layer with such connections and neurons; None if none has both."""
    for kind in LAYER_KINDS.values():
        if not kind.is_readout and (kind.connections, kind.neurons) == (connections, neurons):
            return kind
    return None


def _layer_end(tokens: Sequence[str]) -> Optional[int]:
    """Returns where in a path the fields of a layer begin; None if it is of no layer."""
    for at, name in enumerate(tokens[:2]):
        if name == "readout":
            return at + 1
        if name == "layers" and len(tokens) > at + 1:
            return at + 2
    return None


def _pool_before(begin: Sequence[str]) -> Iterator[Tokens]:
    """Yields the path of the pool that enters a layer, which the layer before has in version 1."""
    if begin[-1].isdigit() and int(begin[-1]):
        yield (*begin[:-1], str(int(begin[-1]) - 1), "pool", "pool_size")
