"""Any valid object of a model, from the limits of its fields: new fields are covered at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from ipulse.models import MAX_KEY, StrictModel
from ipulse.models.fields import LabelName, LabelValue
from ipulse.spec import (
    DelayedRecallData,
    EmulatorDevice,
    EquationsLossSpec,
    EquationsPenalty,
    EventsData,
    FrozenNoiseData,
    GrowingCapacity,
    IPUDevice,
    LayerSpec,
    LeakyReadoutSpec,
    NeuronSpec,
    NpzData,
    PackageNeuronSpec,
    PoissonData,
    RandmanData,
    SpikeTargets,
)
from ipulse.spec.network.initial import InitialSpec
from tests.equations import lif
from tests.ipulse.strategies.scalars import CHARACTERS, floats, integers, texts
from tests.losses import cross_entropy, squared_outputs, squared_spikes

PACKAGE = f"dendrites@sha256:{'0f' * 32}"
MOST_LISTED = 12  # neurons of which a list has one number each: longer ones only take time

# Sizes with a limited product, each with a maximum that keeps the product below the limit.
MOST: dict[type[Any], dict[str, int]] = {
    RandmanData: {
        "classes": 50,
        "units": 64,
        "dimensions": 3,
        "spikes": 4,
        "samples_per_class": 99,
    },
    PoissonData: {"classes": 10, "channels": 256, "samples_per_class": 5},
    FrozenNoiseData: {"classes": 10, "channels": 256, "templates": 5, "samples_per_class": 5},
    DelayedRecallData: {"classes": 10, "units": 8, "samples_per_class": 5},
    NpzData: {"channels": 1024},
    EventsData: {"channels": 1024},
}

ENGINE_OPTIONS = st.dictionaries(
    st.sampled_from(["autoReport.all", "debug.retainDebugInformation"]),
    st.sampled_from(["true", "false"]),
)
IPUS = {
    "engine_options": ENGINE_OPTIONS,
    "poplar_flags": st.sampled_from([(), ("--allow_nans", "--log_cycle_count=-1")]),
    "pvti_options": st.sampled_from([{}, {"enable": "true"}]),
}


def values(cls: type[Any], **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws objects of a model or an event class with fields that are valid one by one.

    Rules between fields need not hold: models are built without validation. `known` overrides.
    """
    parts = {}
    for name, hint, limits in fields_of(cls):
        if name in MOST.get(cls, {}):
            limits["le"] = MOST[cls][name]
        parts[name] = known.get(name, of_type(hint, limits))
    return st.builds(cls.model_construct if is_model(cls) else cls, **parts)


def fields_of(cls: type[Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """Name, type and limits of each field."""
    if is_model(cls):
        return [
            (name, field.annotation, limits_of(field.metadata))
            for name, field in cls.model_fields.items()
        ]
    hints = get_type_hints(cls, include_extras=True)
    return [(f.name, hints[f.name], dict(f.metadata)) for f in dataclasses.fields(cls)]


def limits_of(metadata: Iterable[Any]) -> dict[str, Any]:
    """The limits in the metadata of a pydantic field or of an Annotated type."""
    limits: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, FieldInfo):
            limits.update(limits_of(item.metadata))
            continue
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern"):
            if getattr(item, name, None) is not None:
                limits[name] = getattr(item, name)
    return limits


def is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, StrictModel)


def of_type(hint: Any, limits: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Any value that a field of this type and with these limits may hold."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return of_type(arguments[0], {**limits_of(arguments[1:]), **limits})
    if hint is SpikeTargets:
        return st.sets(st.floats(0, 1e6), min_size=2, max_size=2).map(
            lambda two: SpikeTargets(right=max(two), wrong=min(two))
        )
    if hint is InitialSpec:
        return values(InitialSpec).map(_one_file)
    if hint is GrowingCapacity:
        return values(GrowingCapacity).map(_ordered)
    if hint is NeuronSpec:
        return st.sampled_from([lif(), lif("subtract", theta=True)]).map(NeuronSpec.model_validate)
    if hint is PackageNeuronSpec:
        listed = [(), [{"name": "decay", "trainable": True}]]
        return st.sampled_from(
            [
                PackageNeuronSpec.model_validate({"package": PACKAGE, "parameters": each})
                for each in listed
            ]
        )
    if hint is EquationsLossSpec:
        return st.sampled_from([cross_entropy(), squared_spikes(), squared_outputs()]).map(
            EquationsLossSpec.model_validate
        )
    if hint is EquationsPenalty:
        texts_of = ["mean(mean_over_time(readout.membrane))", "mean(last(layers[0].spikes))"]
        return st.sampled_from(texts_of).map(lambda text: EquationsPenalty(penalty=text))
    if hint in (EmulatorDevice, IPUDevice):
        return values(hint, **IPUS)
    if is_model(hint) or dataclasses.is_dataclass(hint):
        return layers() if hint is LayerSpec else values(hint)
    if origin in (Union, UnionType):
        return st.one_of(*(of_type(member, limits) for member in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        least, most = limits.get("min_length", 0), min(limits.get("max_length", 3), 3)
        return st.lists(of_type(arguments[0], {}), min_size=least, max_size=most).map(tuple)
    if hint == dict[LabelName, LabelValue]:
        return st.dictionaries(st.sampled_from(["site", "a/b"]), st.sampled_from(["b-2", "*"]))
    if origin is dict:
        most = min(limits.get("max_length", 4), 4)
        keys = st.text(CHARACTERS, min_size=1, max_size=MAX_KEY)
        return st.dictionaries(keys, of_type(arguments[1], {}), max_size=most)
    if hint in (type(None), bool):
        return st.none() if hint is not bool else st.booleans()
    if hint is int:
        return integers(limits)
    if hint is float:
        return floats(limits)
    if hint is str:
        return texts(limits)
    raise TypeError(f"no strategy for {hint!r}")


def replace(model: Any, **changes: Any) -> Any:
    """A copy with other values, unchecked."""
    return model.model_copy(update=changes)


def _one_file(initial: InitialSpec) -> InitialSpec:
    if initial.upload is not None:
        return replace(initial, file=None, sha256=None)
    return replace(initial, file=initial.file or "a.npz")


def _ordered(capacity: GrowingCapacity) -> GrowingCapacity:
    most = None if capacity.most is None else max(capacity.most, capacity.grow)
    return replace(capacity, most=most)


def layers(most_neurons: int = 65_535) -> st.SearchStrategy[LayerSpec]:
    """Any valid layer: what binds its fields together holds too."""
    sized = values(LayerSpec, neurons=st.integers(1, most_neurons))
    return sized.map(lambda layer: fitted(layer, layer.neurons))


def _repeated(model: Any, names: tuple[str, ...], neurons: int) -> Any:
    """Returns a copy with one number per neuron in each list."""
    changes: dict[str, Any] = {}
    for name in names:
        value = getattr(model, name, None)
        if isinstance(value, tuple):
            few = neurons <= MOST_LISTED and value
            changes[name] = (value * neurons)[:neurons] if few else max(value, default=0.5)
    return replace(model, **changes)


def fitted(layer: Any, neurons: int) -> Any:
    """Returns a copy with fields that are consistent for this number of neurons."""
    names = ("decay", "synapse_decay", "threshold", "second_threshold")
    layer = _repeated(layer, names, neurons)
    if isinstance(layer, LeakyReadoutSpec):
        return layer
    if layer.adaptation is not None:
        adaptation = _repeated(layer.adaptation, ("strength", "decay"), neurons)
        layer = replace(layer, adaptation=adaptation)
    changes = {}
    if layer.second_threshold is not None:
        least, seconds = _least(layer.threshold), layer.second_threshold
        each = seconds if isinstance(seconds, tuple) else (seconds,)
        lowered = tuple(min(second, least) for second in each)
        changes["second_threshold"] = lowered if isinstance(seconds, tuple) else lowered[0]
    capacity = layer.capacity
    if isinstance(capacity, GrowingCapacity):
        grow = min(capacity.grow, neurons)
        most = capacity.most if capacity.most is None else min(max(capacity.most, grow), neurons)
        changes["capacity"] = GrowingCapacity(grow=grow, most=most)
    elif capacity is not None:
        changes["capacity"] = min(capacity, neurons)
    if capacity is None:
        changes["policy"] = "index"
    return replace(layer, **changes)


def _least(value: Any) -> float:
    return min(value) if isinstance(value, tuple) else value
