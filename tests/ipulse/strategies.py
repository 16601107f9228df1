"""Hypothesis strategies: any valid value of a schema class, and any document that says it.

They read the same field descriptions as the parser, so a new field is covered when it is written.
"""

from __future__ import annotations

import dataclasses
import math
import string
from typing import Any, Dict, Literal, Mapping, Tuple, Type, Union, get_args, get_origin

from hypothesis import strategies as st

from ipulse import schema
from ipulse.spec import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, LIFLayer, Network, spec_to_json

# Every character that a text field accepts: no lone surrogate, no control character.
CHARACTERS = st.characters(blacklist_categories=("Cs", "Cc"))
NAME_CHARACTERS = string.ascii_letters + string.digits + "._-"


def values(cls: Type[Any], **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any instance of a schema class whose fields are sound one by one; `known` overrides."""
    parts = {
        field.name: known.get(field.name, of_type(hint, field.metadata))
        for field, hint in schema.fields_of(cls)
    }
    return st.builds(cls, **parts)


def of_type(hint: Any, limits: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Any value that a field of this type and with these limits may hold."""
    if dataclasses.is_dataclass(hint):
        return layers() if hint is LIFLayer else values(hint)  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return st.one_of(*(of_type(member, limits) for member in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        most = min(limits.get("max_items") or 4, 4)
        return st.lists(
            of_type(arguments[0], limits), min_size=limits.get("min_items") or 0, max_size=most
        ).map(tuple)
    if origin is dict:
        most = min(limits.get("max_items") or 4, 4)
        keys = st.text(CHARACTERS, min_size=1, max_size=schema.MAX_KEY)
        return st.dictionaries(keys, of_type(arguments[1], limits), max_size=most)
    if hint is type(None):
        return st.none()
    if hint is bool:
        return st.booleans()
    if hint is int:
        return integers(limits)
    if hint is float:
        return floats(limits)
    if hint is str:
        return texts(limits)
    raise TypeError(f"no strategy for {hint!r}")


def integers(limits: Mapping[str, Any]) -> st.SearchStrategy[int]:
    least, most = limits.get("ge"), limits.get("le")
    return st.integers(
        -schema.MAX_INTEGER if least is None else int(least),
        schema.MAX_INTEGER if most is None else int(most),
    )


def floats(limits: Mapping[str, Any]) -> st.SearchStrategy[float]:
    least = limits["ge"] if limits.get("ge") is not None else limits.get("gt")
    most = limits["le"] if limits.get("le") is not None else limits.get("lt")
    return st.floats(
        None if least is None else float(least),
        None if most is None else float(most),
        exclude_min=limits.get("ge") is None and limits.get("gt") is not None,
        exclude_max=limits.get("le") is None and limits.get("lt") is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def texts(limits: Mapping[str, Any]) -> st.SearchStrategy[str]:
    most = min(limits.get("max_length") or schema.MAX_TEXT, 40)
    if limits.get("pattern") is None:
        return st.text(CHARACTERS, max_size=most)
    if limits["pattern"].startswith("[A-Za-z0-9]"):  # the name of a file
        return st.text(NAME_CHARACTERS, min_size=1, max_size=most).filter(lambda s: s[0].isalnum())
    return st.text(CHARACTERS, min_size=1, max_size=most).filter(lambda s: s == s.strip())


@st.composite
def layers(draw: Any, most_neurons: int = 65_535) -> LIFLayer:
    """Any valid layer: what binds its fields together holds too."""
    layer = draw(values(LIFLayer, neurons=st.integers(1, most_neurons)))
    second, capacity = layer.second_threshold, layer.capacity
    if second is not None:
        second = min(second, layer.threshold)
    if capacity is not None:
        capacity = min(capacity, layer.neurons)
    fitted: LIFLayer = dataclasses.replace(layer, second_threshold=second, capacity=capacity)
    return fitted


@st.composite
def specs(draw: Any) -> ExperimentSpec:
    """Any valid experiment: sizes are shrunk until the whole fits, nothing is thrown away."""
    spec: ExperimentSpec = draw(values(ExperimentSpec, network=values(Network, layers=_stacks())))
    spec = dataclasses.replace(spec, network=_fit_synapses(spec))
    neurons = sum(layer.neurons for layer in spec.network.layers) + spec.data.classes
    steps = min(spec.data.steps, MAX_STATE // neurons)
    batch = min(spec.training.batch_size, max(1, MAX_STATE // (neurons * steps)))
    return dataclasses.replace(
        spec,
        data=dataclasses.replace(spec.data, steps=steps),
        training=dataclasses.replace(spec.training, batch_size=batch),
    )


def _stacks() -> st.SearchStrategy[Tuple[LIFLayer, ...]]:
    return st.lists(layers(), min_size=1, max_size=4).map(tuple)


def _fit_synapses(spec: ExperimentSpec) -> Network:
    sizes = [spec.data.inputs, *(layer.neurons for layer in spec.network.layers), spec.data.classes]
    pairs = list(zip(sizes, sizes[1:]))
    if sum(before * after for before, after in pairs) <= MAX_SYNAPSES:
        return spec.network
    widest = math.isqrt(MAX_SYNAPSES // len(pairs))  # every pair of layers within its share
    fitted = tuple(
        dataclasses.replace(
            layer,
            neurons=min(layer.neurons, widest),
            capacity=None if layer.capacity is None else min(layer.capacity, widest),
        )
        for layer in spec.network.layers
    )
    return dataclasses.replace(spec.network, layers=fitted)


@st.composite
def documents(draw: Any) -> Tuple[Dict[str, Any], ExperimentSpec]:
    """A JSON document and the spec it says: any of the fields at their default may be left out."""
    spec = draw(specs())
    return _without_some_defaults(draw, type(spec), spec_to_json(spec)), spec


def _without_some_defaults(draw: Any, cls: Type[Any], document: Dict[str, Any]) -> Dict[str, Any]:
    kept = {}
    for field, hint in schema.fields_of(cls):
        value = document[field.name]
        at_default = value == schema.default_of(field)
        if at_default and draw(st.booleans()):
            continue
        if dataclasses.is_dataclass(hint):
            value = _without_some_defaults(draw, hint, value)  # type: ignore[arg-type]
        elif get_origin(hint) is tuple and dataclasses.is_dataclass(get_args(hint)[0]):
            item = get_args(hint)[0]
            value = [_without_some_defaults(draw, item, element) for element in value]
        kept[field.name] = value
    return kept
