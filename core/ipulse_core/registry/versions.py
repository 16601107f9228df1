"""Translates specs between version 1, which the checks and the runner read, and version 2.

Both directions come from the table in `layer_paths`. A document may be incomplete: fields that it
does not give are not added.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.registry.absent import ABSENT
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import LAYER_KINDS, LayerKind
from ipulse_core.registry.layer_paths import (
    CONNECTION,
    LAYER,
    NETWORK_NAMES,
    NEURON,
    OP,
    PARAMETER_NAMES,
    PLACES,
    POOLS,
    RECURRENT,
    SKIP,
    WEIGHTED,
    Place,
    field_at,
    kind_named,
    names_in,
    newer,
    place_of,
)
from ipulse_core.spec.layer_names import layer_name
from ipulse_core.strict_json import escape, pointer_keys

NEWEST = 2
VERSIONS = (1, NEWEST)  # that this release reads
_NEURONS = ("lif", "equations", "package")
_LAYER = re.compile(r"/network/(readout|layers/[0-9]+)$")
_READOUTS = {"leaky": "leaky", "lif": "spiking"}  # kinds of version 1 by kinds of neurons
_KINDS = (*WEIGHTED, RECURRENT, SKIP, *POOLS)
_LAYER_PARTS = {"connections", NEURON, OP}
_MOST_LAYERS = 16
_REMOVE = "remove it"
_OP_IS = "a custom op is connections and neurons at once"


class Lowered(NamedTuple):
    """A spec of version 2 in the flat form, and what its places are in version 2.

    places: pointers of version 2 by pointers of the flat form, of fields and objects.
    problems: what has no flat form.
    """

    document: Any
    places: Dict[str, str]
    problems: Tuple[Problem, ...]

    def pointer(self, flat: str) -> str:
        """Returns the place in version 2 of a place in the flat form."""
        begin, rest = flat, ""
        while begin and begin not in self.places:
            begin, _, last = begin.rpartition("/")
            rest = f"/{last}{rest}"
        if rest and (not begin or _LAYER.match(begin)):  # a field that is not given
            tokens = newer(pointer_keys(flat))[begin.count("/") :]
            rest = "".join(f"/{escape(each)}" for each in tokens)
        return self.places.get(begin, "") + rest


def is_newest(document: Any) -> bool:
    """Returns whether a document says that it is of version 2."""
    return isinstance(document, dict) and document.get("version") == NEWEST


def lowered(document: Dict[str, Any]) -> Lowered:
    """Returns a document of version 2 in the flat form, and every problem that this has."""
    return _Lowering(document).run()


def lower(document: Any) -> Any:
    """Returns a document in the flat form; one of version 1 is returned as it is.

    Raises:
        InvalidSpec: With what has no flat form, at the places of version 2.
    """
    if not is_newest(document):
        return document
    found = lowered(document)
    if found.problems:
        raise InvalidSpec(found.problems)
    return found.document


def raise_to_2(document: Any) -> Any:
    """Returns a document of version 1 in version 2; one of version 2 is returned as it is.

    What is no field of version 1 stays where it was, for the checks to report.
    """
    if not isinstance(document, dict) or is_newest(document):
        return document
    raised = {**document, "version": NEWEST}
    network = document.get("network")
    if isinstance(network, dict):
        raised["network"] = _raised_network(network)
    return raised


def raise_layer(layer: Dict[str, Any], is_readout: bool = False) -> Tuple[Dict[str, Any], Any]:
    """Returns a layer of version 1 in version 2, and the pool behind it, which the next layer has.

    Layers that it refers to have no names.
    """
    names = [layer_name(index, index + 1) for index in range(_MOST_LAYERS)]
    return _raised_layer(layer, names, is_readout, None), layer.get("pool")


def _raised_network(network: Dict[str, Any]) -> Dict[str, Any]:
    raised = {NETWORK_NAMES.get(name, name): value for name, value in network.items()}
    layers = network.get("layers")
    hidden = list(layers) if isinstance(layers, list) else []
    readout = network.get("readout", {})
    names = [
        layer_name(index, len(hidden), layer.get("name") if isinstance(layer, dict) else None)
        for index, layer in enumerate(hidden)
    ]
    pool = None
    for index, layer in enumerate([*hidden, readout]):
        if not isinstance(layer, dict):
            pool = None
            continue
        changed = _raised_layer(layer, names, index == len(hidden), pool)
        if index < len(hidden):
            hidden[index] = changed
        elif changed or "readout" in network:
            raised["readout"] = changed
        pool = layer.get("pool")
    if isinstance(layers, list):
        raised["layers"] = hidden
    return raised


def _raised_layer(
    layer: Dict[str, Any], names: Sequence[str], is_readout: bool, pool: Any
) -> Dict[str, Any]:
    """Returns a flat layer in version 2. `pool` is that of the layer before it."""
    kind = flat_kind(layer, is_readout)
    if kind is None:
        return layer
    own: Dict[str, Any] = {}
    weighted: Dict[str, Any] = {}
    parts: Dict[str, Dict[str, Any]] = {LAYER: own, CONNECTION: weighted, NEURON: {}, OP: {}}
    has_own = kind.neurons in ("equations", "package")
    for field, value in layer.items():
        if field in ("kind", "recurrent", "residual", "pool") or field == "neuron":
            continue
        if field not in PLACES:
            own[field] = value
            continue
        place = place_of(field, kind)
        if place.part == NEURON and has_own and field != "gate":
            continue  # constants of LIF neurons, which have their defaults
        if place.part == NEURON and not has_own and field == "gate":
            continue
        if field == "delays" and value is None and "delay" in layer:
            continue
        if field == "delay" and value is None and layer.get("delays") is not None:
            continue
        if field == "name" and value is None:
            continue
        parts[place.part][place.name] = value
    neuron = _raised_neuron(layer, kind, parts[NEURON], is_readout)
    connections = _raised_connections(layer, kind, weighted, names, pool)
    if connections:
        own["connections"] = connections
    if kind.connections == "op":
        own[OP] = parts[OP]
    elif neuron:
        own[NEURON] = neuron
    return _in_order(own)


def _raised_neuron(
    layer: Dict[str, Any], kind: LayerKind, constants: Dict[str, Any], is_readout: bool
) -> Dict[str, Any]:
    if is_readout:
        tag = {"kind": "lif" if kind.kind == "spiking" else "leaky"} if "kind" in layer else {}
        return {**tag, **constants}
    if kind.neurons not in ("equations", "package"):
        return constants
    given = layer.get("neuron")
    if not isinstance(given, dict):
        return {"kind": kind.neurons, **constants}
    given = dict(given)
    if isinstance(given.get("parameters"), list):
        given["parameters"] = [
            {PARAMETER_NAMES.get(name, name): value for name, value in each.items()}
            if isinstance(each, dict)
            else each
            for each in given["parameters"]
        ]
    return {"kind": kind.neurons, **given, **constants}


def _raised_connections(
    layer: Dict[str, Any],
    kind: LayerKind,
    weighted: Dict[str, Any],
    names: Sequence[str],
    pool: Any,
) -> List[Dict[str, Any]]:
    """Returns the connections of a layer; none where it has the usual one, with no fields."""
    found: List[Dict[str, Any]] = []
    if isinstance(pool, dict):
        pools = {old: new for new, old in POOLS.items()}
        rest = {name: value for name, value in pool.items() if name != "kind"}
        found.append({"kind": pools.get(pool.get("kind", "sum"), pool.get("kind")), **rest})
    behind: List[Dict[str, Any]] = []
    if layer.get("recurrent"):
        behind.append({"kind": RECURRENT})
    numbers = layer.get("residual")
    for number in numbers if isinstance(numbers, (list, tuple)) else ():
        is_known = isinstance(number, int) and 0 < number <= len(names)
        behind.append({"kind": SKIP, "from": names[number - 1] if is_known else number})
    if kind.connections == "op":
        return [*found, *behind]
    if not (found or behind or weighted or kind.connections != "dense"):
        return []
    return [*found, {"kind": kind.connections, **weighted}, *behind]


def _in_order(layer: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a layer with its name and size first, then what it receives, then the neuron."""
    first = [name for name in ("name", "neurons", "connections", OP, NEURON) if name in layer]
    return {name: layer[name] for name in (*first, *(n for n in layer if n not in first))}


def flat_kind(layer: Dict[str, Any], is_readout: bool) -> Optional[LayerKind]:
    """Returns the kind of a flat layer of a document; None if there is no such kind."""
    name = layer.get("kind", "leaky" if is_readout else "dense")
    has_equations = name in ("conv1d", "conv2d") and layer.get("neuron") is not None
    kind = LAYER_KINDS.get(f"{name}_equations" if has_equations else str(name))
    return kind if kind is not None and kind.is_readout == is_readout else None


class _Lowering:
    """Makes the flat form of one document, and collects problems and places."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self._document = document
        self._places: Dict[str, str] = {}
        self._problems: List[Problem] = []
        self._names: Dict[str, int] = {}  # numbers of hidden layers, from 1

    def run(self) -> Lowered:
        """Returns the flat form of the document."""
        flat = {**self._document, "version": 1}
        network = self._document.get("network")
        if isinstance(network, dict):
            flat["network"] = self._network(network)
        return Lowered(flat, self._places, tuple(self._problems))

    def _refuse(self, pointer: str, code: str, detail: str) -> None:
        self._problems.append(Problem(pointer, code, detail))

    def _network(self, network: Dict[str, Any]) -> Dict[str, Any]:
        flat: Dict[str, Any] = {}
        names = {new: old for old, new in NETWORK_NAMES.items()}
        for name, value in network.items():
            if name in NETWORK_NAMES:
                self._refuse(f"/network/{name}", "unknown_field", _renamed(NETWORK_NAMES[name]))
                continue
            flat[names.get(name, name)] = value
            self._places[f"/network/{names.get(name, name)}"] = f"/network/{escape(name)}"
        given = network.get("layers")
        hidden = list(given) if isinstance(given, list) else []
        self._find_names(hidden)
        readout = network.get("readout", {})
        before: Optional[LayerKind] = None
        layers: List[Any] = []
        for index, layer in enumerate([*hidden, readout]):
            is_readout = index == len(hidden)
            pointer = "/network/readout" if is_readout else f"/network/layers/{index}"
            self._places[pointer] = pointer
            if not isinstance(layer, dict):
                layers.append(layer)
                before = None
                continue
            one = _LayerLowering(self, layer, pointer, is_readout, index)
            layers.append(one.run(before, layers[-1] if layers else None))
            before = one.kind
        if isinstance(given, list):
            flat["layers"] = layers[:-1]
        if "readout" in network:
            flat["readout"] = layers[-1]
        return flat

    def _find_names(self, layers: Sequence[Any]) -> None:
        for index, layer in enumerate(layers):
            name = layer.get("name") if isinstance(layer, dict) else None
            for each in (name, layer_name(index, len(layers))):
                if isinstance(each, str):
                    self._names.setdefault(each, index + 1)


class _LayerLowering:
    """Makes the flat form of one layer."""

    def __init__(
        self,
        whole: _Lowering,
        layer: Dict[str, Any],
        pointer: str,
        is_readout: bool,
        index: int,
    ) -> None:
        self._whole = whole
        self._layer = layer
        self._pointer = pointer
        self._is_readout = is_readout
        self._index = index
        self._flat: Dict[str, Any] = {}
        self.kind: Optional[LayerKind] = None

    def run(self, before: Optional[LayerKind], previous: Any) -> Dict[str, Any]:
        """Returns the flat layer; its pool becomes a field of the previous flat layer."""
        neuron, neuron_kind = self._neuron()
        connections = self._connections()
        weighted = [each for each in connections if each[2] in WEIGHTED]
        self.kind = self._kind_of(neuron_kind, weighted)
        if self.kind is None:
            return {}
        if not self._is_readout and self.kind.kind != "dense":
            self._flat["kind"] = self.kind.kind
        if self._is_readout and "kind" in neuron:
            self._flat["kind"] = self.kind.kind
        for name, value in self._layer.items():
            if name not in _LAYER_PARTS:
                self._set(Place(LAYER, name), value, f"{self._pointer}/{escape(name)}")
        self._drop_usual_name()
        self._set_neuron(neuron)
        if self.kind.connections == "op":
            self._set_op()
        for place, given, kind in connections:
            if kind in WEIGHTED:
                self._place("", place)
                for name, value in given.items():
                    if name != "kind":
                        self._set(Place(CONNECTION, name), value, f"{place}/{escape(name)}")
            elif kind == RECURRENT:
                self._recurrent(place, given)
            elif kind == SKIP:
                self._skip(place, given)
            else:
                self._pool(place, given, kind, before, previous)
        return self._flat

    @property
    def _is_op(self) -> bool:
        return self._layer.get(OP) is not None

    def _place(self, field: str, pointer: str) -> None:
        """Remembers the place of a field of the flat layer; "": of its connection's kind."""
        name = field or "kind"
        self._whole._places[f"{self._pointer}/{name}"] = pointer

    def _neuron(self) -> Tuple[Dict[str, Any], str]:
        usual = "leaky" if self._is_readout else "lif"
        neuron = self._layer.get(NEURON, {})
        place = f"{self._pointer}/{NEURON}"
        if not isinstance(neuron, dict):
            self._whole._refuse(place, "wrong_type", "must be an object")
            return {}, usual
        kind = neuron.get("kind", usual)
        known = tuple(_READOUTS) if self._is_readout else _NEURONS
        if kind in known:
            return neuron, kind
        listed = ", ".join(known)
        detail = f"must be one of {listed}; got {str(kind)[:40]}"
        if kind == "leaky":
            detail = "leaky integrators do not spike, and hidden layers do: use lif"
        elif kind in _NEURONS:
            detail = f"a readout has leaky or lif neurons: use one of these, and {kind} before it"
        self._whole._refuse(f"{place}/kind", "not_a_choice", detail)
        return {}, ""

    def _connections(self) -> List[Tuple[str, Dict[str, Any], str]]:
        """Returns the place, the fields and the kind of each connection."""
        place = f"{self._pointer}/connections"
        is_op = self._is_op
        if is_op and NEURON in self._layer:
            self._whole._refuse(f"{self._pointer}/{NEURON}", "inconsistent", f"{_OP_IS}: {_REMOVE}")
        given = self._layer.get("connections", [] if is_op else [{}])
        if not isinstance(given, list):
            self._whole._refuse(place, "wrong_type", "must be a list")
            return [] if is_op else [(place, {}, "dense")]
        found: List[Tuple[str, Dict[str, Any], str]] = []
        for at, each in enumerate(given):
            where = f"{place}/{at}"
            if not isinstance(each, dict):
                self._whole._refuse(where, "wrong_type", "must be an object")
                continue
            kind = each.get("kind", "dense")
            if kind not in _KINDS:
                detail = f"must be one of {', '.join(_KINDS)}; got {str(kind)[:40]}"
                self._whole._refuse(f"{where}/kind", "not_a_choice", detail)
                continue
            if is_op and kind not in (SKIP, *POOLS):
                detail = f"{_OP_IS}, and has only pools and skips before it: {_REMOVE}"
                self._whole._refuse(where, "inconsistent", detail)
                continue
            if kind in POOLS and at:
                detail = "a pool is the first of the connections: move it there"
                self._whole._refuse(where, "inconsistent", detail)
            found.append((where, each, kind))
        kinds = [kind for _, _, kind in found]
        several = [at for at, kind in enumerate(kinds) if kind in WEIGHTED][1:]
        several += [at for at, kind in enumerate(kinds) if kind == RECURRENT][1:]
        for at in sorted(several):
            detail = "a layer has one connection with input weights and one that is recurrent"
            self._whole._refuse(found[at][0], "unsupported", f"{detail}: {_REMOVE}")
        if not is_op and not set(kinds) & set(WEIGHTED) and len(found) == len(given):
            detail = f"one of {', '.join(WEIGHTED)} is required"
            self._whole._refuse(place, "missing", detail)
        return [each for at, each in enumerate(found) if at not in several]

    def _kind_of(
        self, neurons: str, weighted: Sequence[Tuple[str, Dict[str, Any], str]]
    ) -> Optional[LayerKind]:
        if self._is_op:
            kind = kind_named("op", "op")
            if self._is_readout:
                detail = "a readout has leaky or lif neurons: move the op before it"
                self._whole._refuse(f"{self._pointer}/{OP}", "unsupported", detail)
            return None if self._is_readout else kind
        place, _, connection = weighted[0] if weighted else (self._pointer, {}, "dense")
        if self._is_readout:
            if connection != "dense":
                detail = "a readout has dense connections: add a layer for the convolution"
                self._whole._refuse(f"{place}/kind", "unsupported", detail)
            return LAYER_KINDS[_READOUTS[neurons]] if neurons else None
        if not neurons:
            return None
        kind = kind_named(connection, neurons)
        if kind is None:
            detail = f"no kernel has {neurons} neurons behind a {connection}: use dense"
            self._whole._refuse(f"{place}/kind", "unsupported", detail)
        return kind

    def _set(self, place: Place, value: Any, pointer: str) -> None:
        """Sets the field at a place of version 2."""
        kind = self.kind
        if kind is None:
            return
        field = field_at(place, kind, value)
        if place.name in names_in(place.part, kind) and field is not None:
            self._flat[field] = value
            self._place(field, pointer)
        elif field is not None:
            code, detail = _absence(field, kind)
            self._whole._refuse(pointer, code, detail)
        else:
            detail = _no_such_field(place, kind)
            self._whole._refuse(pointer, "unknown_field", detail)

    def _set_neuron(self, neuron: Dict[str, Any]) -> None:
        kind, place = self.kind, f"{self._pointer}/{NEURON}"
        if kind is None:
            return
        rest: Dict[str, Any] = {}
        for name, value in neuron.items():
            if name == "kind":
                continue
            if kind.neurons in ("equations", "package") and name != "second_threshold":
                rest[name] = value
            else:
                self._set(Place(NEURON, name), value, f"{place}/{escape(name)}")
        if kind.neurons in ("equations", "package"):
            self._flat["neuron"] = self._with_old_parameters(rest, place)
            self._place("neuron", place)

    def _with_old_parameters(self, neuron: Dict[str, Any], place: str) -> Dict[str, Any]:
        parameters = neuron.get("parameters")
        if not isinstance(parameters, list):
            return neuron
        names = {new: old for old, new in PARAMETER_NAMES.items()}
        changed: List[Any] = []
        for at, each in enumerate(parameters):
            if not isinstance(each, dict):
                changed.append(each)
                continue
            for old, new in PARAMETER_NAMES.items():
                inside = f"{place}/parameters/{at}"
                self._place(f"{NEURON}/parameters/{at}/{old}", f"{inside}/{new}")
                if old in each:
                    self._whole._refuse(f"{inside}/{old}", "unknown_field", _renamed(new))
            changed.append({names.get(name, name): value for name, value in each.items()})
        return {**neuron, "parameters": changed}

    def _set_op(self) -> None:
        op, place = self._layer[OP], f"{self._pointer}/{OP}"
        if not isinstance(op, dict):
            self._whole._refuse(place, "wrong_type", "must be an object")
            return
        for name, value in op.items():
            self._set(Place(OP, name), value, f"{place}/{escape(name)}")
        self._whole._places.setdefault(f"{self._pointer}/op", f"{place}/name")

    def _drop_usual_name(self) -> None:
        hidden = self._index + 1 if not self._is_readout else self._index
        if self._flat.get("name") == layer_name(self._index, hidden):
            del self._flat["name"]

    def _recurrent(self, place: str, given: Dict[str, Any]) -> None:
        self._check_names(place, given, ())
        self._connect("recurrent", True, place)

    def _skip(self, place: str, given: Dict[str, Any]) -> None:
        self._check_names(place, given, ("from",))
        name, names = given.get("from"), self._whole._names
        if name == "input":
            detail = "skips from the input are not written: name a hidden layer"
            self._whole._refuse(f"{place}/from", "unsupported", detail)
            return
        if not isinstance(name, str) or name not in names:
            known = ", ".join(names) if names else "none"
            detail = f"must be the name of a hidden layer: {known[:200]}; got {str(name)[:40]}"
            code = "missing" if "from" not in given else "unknown_name"
            self._whole._refuse(f"{place}/from", code, detail)
            return
        numbers = self._flat.get("residual", [])
        if self._connect("residual", [*numbers, names[name]], place):
            self._place(f"residual/{len(numbers)}", f"{place}/from")

    def _connect(self, field: str, value: Any, place: str) -> bool:
        """Sets the field of a connection, or refuses it; returns whether the layer has it."""
        kind = self.kind
        if kind is None or field not in kind.fields:
            if kind is not None:
                self._whole._refuse(place, *_absence(field, kind))
            return False
        self._flat[field] = value
        self._place(field, place)
        return True

    def _pool(
        self,
        place: str,
        given: Dict[str, Any],
        kind: str,
        before: Optional[LayerKind],
        previous: Any,
    ) -> None:
        self._check_names(place, given, ("pool_size",))
        if not self._index:
            detail = f"the input is not pooled: {_REMOVE}"
            self._whole._refuse(place, "unsupported", detail)
        elif before is not None and "pool" not in before.fields:
            self._whole._refuse(place, *_absence("pool", before))
        elif isinstance(previous, dict):
            rest = {name: value for name, value in given.items() if name == "pool_size"}
            previous["pool"] = {"kind": POOLS[kind], **rest}
            self._whole._places[f"/network/layers/{self._index - 1}/pool"] = place

    def _check_names(self, place: str, given: Dict[str, Any], known: Sequence[str]) -> None:
        weighted = {name for part, name in PLACES.values() if part == CONNECTION}
        for name in given:
            if name in ("kind", *known):
                continue
            detail = f"there is no such field; the fields here are {', '.join(('kind', *known))}"
            if name in weighted:
                detail = (
                    f"connections of kind {given.get('kind')} have none of their own: set it in "
                    "the connection with input weights"
                )
            code = "unsupported" if name in weighted else "unknown_field"
            self._whole._refuse(f"{place}/{escape(str(name)[:100])}", code, detail)


def _absence(field: str, kind: LayerKind) -> Tuple[str, str]:
    """Returns code and detail for a field that a kind of layer does not have."""
    for feature in FEATURES.values():
        absence = ABSENT.get((feature.name, kind.name))
        if feature.root == field and absence is not None:
            return "unsupported", f"{absence.reason}: {_REMOVE}"
    named = kind.sentence[0].lower() + kind.sentence[1:]
    return "unknown_field", f"{named} has no such field: {_REMOVE}"


def _renamed(new: str) -> str:
    return f"there is no such field in version 2: it is {new} there"


def _no_such_field(place: Place, kind: LayerKind) -> str:
    """Returns the message for an unknown field; of a flat layer it says where it is now."""
    if place.part == LAYER and place.name in PLACES:
        part, name = place_of(place.name, kind)
        path = {LAYER: name, CONNECTION: f"connections[0].{name}"}.get(part, f"{part}.{name}")
        return _renamed(path)
    if place.part == LAYER and place.name in ("recurrent", "residual", "pool", "kind"):
        found = {
            "recurrent": "a connection, {kind: recurrent}",
            "residual": "a connection, {kind: skip, from: NAME}",
            "pool": "a connection of the next layer, {kind: sum_pool}",
            "kind": "connections[0].kind, neuron.kind or op",
        }
        return _renamed(found[place.name])
    known = names_in(place.part, kind)
    if place.part == LAYER:
        known = [*known, "connections", NEURON, OP]
    near = difflib.get_close_matches(place.name[:60], known, n=1)
    if near:
        listed = ", ".join(known)
        return f"there is no such field; did you mean {near[0]}? The fields here are {listed}"
    return f"there is no such field; the fields here are {', '.join(known)}"
