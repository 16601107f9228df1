"""Functions that make the layers of an `Experiment`, from the models of version 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic.fields import FieldInfo

from ipulse.spec import LayerSpec, version_2
from ipulse_core.registry.layer_paths import (
    AS_CONNECTIONS,
    CONNECTION,
    LAYER,
    NEURON,
    OP,
    PLACES,
    POOLS,
    RECURRENT,
    SKIP,
)
from ipulse_core.registry.versions import raise_layer
from ipulse_core.spec.layer_names import layer_name

from .part import SpecPart, arguments, described, plain

_RECURRENT = FieldInfo(
    annotation=bool,
    default=False,
    description="Whether the layer also receives its own spikes of the previous step, through "
    "trained weights.",
)
_SKIPS = FieldInfo(
    annotation=tuple[str, ...],
    default=(),
    description="Names of earlier hidden layers; their spikes are added to those of the layer "
    "before; a layer without a name is `layers[0]` and so on.",
)
_FIRST = ("name", "neurons", "connections", NEURON)  # of a layer in a document
# Arguments of earlier releases.
_RENAMED = {"trainable": "trained", "delays": "delay"}
_FORMER = (*_RENAMED, "residual", "pool")


def layer(
    maker: str,
    neurons: str,
    *positional: str,
    connection: str = "dense",
    is_readout: bool = False,
) -> Callable[..., SpecPart]:
    """Returns the function that makes layers with such connections and neurons.

    Args:
        maker: The name of the function.
        neurons: The kind of the neurons.
        positional: Fields that may be given without their names.
        connection: The kind of the connection with input weights.
        is_readout: Whether it makes readouts.
    """
    own, neuron = version_2.layer(is_readout), version_2.neuron(neurons)
    models = {LAYER: own, CONNECTION: version_2.connections()[connection], NEURON: neuron}
    left_out = {"kind", "connections", NEURON, OP}
    if connection != "dense":
        left_out.add("neurons")
    if neurons == "leaky":
        left_out |= {"capacity", "policy"}
    # The parts and the names of fields by arguments; equations have a name of their own.
    places: dict[str, tuple[str, str]] = {}
    for part, model in models.items():
        for name in (each for each in model.model_fields if each not in left_out):
            places[f"neuron_{name}" if name in places else name] = part, name
    fields = {name: models[part].model_fields[field] for name, (part, field) in places.items()}
    if "neurons" in fields:
        fields["neurons"] = LayerSpec.model_fields["neurons"]  # required, without convolutions
    if neurons != "leaky":
        fields["recurrent"] = _RECURRENT
    fields["skips"] = _SKIPS
    usual = "leaky" if is_readout else "lif"
    tags = {
        CONNECTION: {} if connection == "dense" else {"kind": connection},
        NEURON: {} if neurons == usual and not is_readout else {"kind": neurons},
    }

    def make(*values: Any, **given: Any) -> SpecPart:
        named = arguments(maker, positional, [*fields, *_FORMER], values, given)
        found = {_RENAMED.get(name, name): value for name, value in named.items()}
        pool, residual = found.pop("pool", None), found.pop("residual", ())
        skips = [*found.pop("skips", ()), *(layer_name(n - 1, n) for n in residual)]
        is_recurrent = found.pop("recurrent", False)
        made: dict[str, dict[str, Any]] = {
            part: dict(tags.get(part, {})) for part in (LAYER, CONNECTION, NEURON)
        }
        for name, value in found.items():
            part, field = places[name]
            made[part][field] = value
        document = made[LAYER]
        behind = [{"kind": RECURRENT}] if is_recurrent else []
        behind += [{"kind": SKIP, "from": name} for name in skips]
        if made[CONNECTION] or behind:
            document["connections"] = [{"kind": "dense", **made[CONNECTION]}, *behind]
        if made[NEURON]:
            document[NEURON] = made[NEURON]
        first = {name: document[name] for name in _FIRST if name in document}
        return SpecPart(maker, named, {**first, **document}, pool)

    return described(make, maker, _text(models, is_readout), fields, positional)


def joined(layers: Iterable[Any]) -> tuple[list[Any], Any]:
    """Returns layers of a document of version 2, and a pool behind the last one or None.

    A pool between two layers becomes a connection of the second one. Layers may be written in
    version 1.
    """
    found: list[Any] = []
    pool: Any = None
    for each in layers:
        if isinstance(each, Mapping) and each.get("kind") in POOLS:
            pool = each
            continue
        made, behind = plain(each), getattr(each, "pool", None)
        if isinstance(made, dict) and _is_flat(made):
            made, behind = raise_layer(made)
        found.append(made if pool is None else with_pool(made, pool))
        pool = behind
    return found, pool


def readout_of(value: Any) -> Any:
    """Returns a readout of a document of version 2; it may be the name of its kind."""
    if isinstance(value, str):
        value = {NEURON: {"kind": "lif"}} if value == "lif" else {"kind": value}
    made = plain(value)
    if isinstance(made, dict) and _is_flat(made):
        return raise_layer(made, is_readout=True)[0]
    return made


def with_pool(layer: Any, pool: Mapping[str, Any]) -> Any:
    """Returns a layer that pools the spikes of the layer before."""
    if not isinstance(layer, dict):
        return layer
    found = plain(pool)
    kinds = {old: new for new, old in POOLS.items()}
    found = {**found, "kind": kinds.get(found.get("kind", "sum"), found.get("kind"))}
    usual: list[Any] = [] if OP in layer else [{"kind": "dense"}]
    return {**layer, "connections": [found, *layer.get("connections", usual)]}


def _is_flat(layer: Mapping[str, Any]) -> bool:
    """Returns whether a layer has fields that only version 1 has."""
    known = version_2.layer().model_fields
    flat = {*PLACES, *AS_CONNECTIONS} - set(known)
    return bool(flat & layer.keys()) or isinstance(layer.get(OP), str)


def _text(models: Mapping[str, Any], is_readout: bool) -> str:
    begin = "A readout. " if is_readout else "A hidden layer. "
    return "\n\n".join([begin + (models[NEURON].__doc__ or ""), models[CONNECTION].__doc__ or ""])
