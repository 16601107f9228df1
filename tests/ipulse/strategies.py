"""Hypothesis strategies: any valid object of a model, and any document of it.

They read the limits of the fields, so a new field is covered when it is written.
"""

from __future__ import annotations

import dataclasses
import math
import string
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from ipulse.models import MAX_INTEGER, MAX_KEY, MAX_TEXT, PRINTABLE, StrictModel
from ipulse.spec import (
    MAX_STATE,
    MAX_SYNAPSES,
    CPUDevice,
    EmulatorDevice,
    EventsData,
    ExperimentSpec,
    ExportSpec,
    FrozenNoiseData,
    GrowingCapacity,
    IPUDevice,
    LayerSpec,
    LeakyReadoutSpec,
    NetworkSpec,
    NpzData,
    PoissonData,
    ProfileSpec,
    RandmanData,
    SGDSpec,
    SpikeTargets,
    SpikingReadoutSpec,
    TrainingSpec,
    spec_to_json,
)
from ipulse.spec.data.recordings import DATASET_REFERENCE, OPTIONAL_NAME
from ipulse.spec.experiment import MOST_SENDERS
from ipulse.spec.network.initial import InitialSpec
from ipulse_core.derived_values import class_count, image_of, input_channels, spiking_layers
from ipulse_core.events import FILE_NAME
from ipulse_core.limits import TRIMMED
from ipulse_core.manifest import SHA256
from ipulse_core.nir_targets import losses

MOST_LISTED = 12  # neurons of which a list has one number each: longer ones only take time

# Every character that a text field accepts: no lone surrogate, no control character.
CHARACTERS = st.characters(blacklist_categories=("Cs", "Cc"))
NAME_CHARACTERS = string.ascii_letters + string.digits + "._-"
# Sizes whose product is limited, each with a maximum that keeps the product below the limit.
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
    """Draws objects of a model or an event class whose fields are valid one by one.

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
    if origin is dict:
        most = min(limits.get("max_length", 4), 4)
        keys = st.text(CHARACTERS, min_size=1, max_size=MAX_KEY)
        return st.dictionaries(keys, of_type(arguments[1], {}), max_size=most)
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


def integers(limits: Mapping[str, Any]) -> st.SearchStrategy[int]:
    least, most = limits.get("ge"), limits.get("le")
    return st.integers(
        -MAX_INTEGER if least is None else int(least),
        MAX_INTEGER if most is None else int(most),
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
    most = min(limits.get("max_length") or MAX_TEXT, 40)
    pattern = limits.get("pattern", PRINTABLE)
    if pattern == PRINTABLE:
        return st.text(CHARACTERS, max_size=most)
    if pattern == FILE_NAME:
        return st.text(NAME_CHARACTERS, min_size=1, max_size=most).filter(lambda s: s[0].isalnum())
    if pattern == SHA256:
        return st.text("0123456789abcdef", min_size=64, max_size=64)
    if pattern == OPTIONAL_NAME:
        return st.sampled_from(["", "mine", "a.b-c_d"])
    if pattern == DATASET_REFERENCE:
        return st.sampled_from(["mine", "a.b-c@17", f"sha256:{'0f' * 32}"])
    assert pattern == TRIMMED
    return st.text(CHARACTERS, min_size=1, max_size=most).filter(lambda s: s == s.strip())


def layers(most_neurons: int = 65_535) -> st.SearchStrategy[LayerSpec]:
    """Any valid layer: what binds its fields together holds too."""
    sized = values(LayerSpec, neurons=st.integers(1, most_neurons))
    return sized.map(lambda layer: fitted(layer, layer.neurons))


def fitted(layer: Any, neurons: int) -> Any:
    """Returns a copy whose fields are consistent for this number of neurons."""
    changes: dict[str, Any] = {}
    for name in ("decay", "synapse_decay", "threshold", "second_threshold"):
        value = getattr(layer, name, None)
        if isinstance(value, tuple):
            few = neurons <= MOST_LISTED and value
            changes[name] = (value * neurons)[:neurons] if few else max(value, default=0.5)
    layer = replace(layer, **changes)
    if isinstance(layer, LeakyReadoutSpec):
        return layer
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


@st.composite
def specs(draw: Any) -> ExperimentSpec:
    """Any valid experiment: sizes are shrunk until the whole fits, nothing is thrown away."""
    spec: ExperimentSpec = draw(_sound_specs())
    spec = replace(spec, data=_fit_data(spec.data))
    spec = replace(spec, network=_fit_readout(spec))
    spec = replace(spec, network=_fit_synapses(spec))
    if _has_decay_of_1(spec.network):
        kept = tuple(name for name in spec.network.trainable if name != "decay")
        spec = replace(spec, network=replace(spec.network, trainable=kept))
    readout = replace(spec.network.readout, trainable=True)
    spec = replace(spec, network=replace(spec.network, readout=readout))
    spec = replace(spec, network=_fit_network(spec.network), training=_fit_training(spec))
    spec = _fit_device(spec)
    spec = replace(spec, export=_fit_export(spec), profile=_fit_profile(spec))
    neurons = sum(layer.neurons for layer in spec.network.layers) + class_count(spec.data)
    steps = min(spec.data.steps, MAX_STATE // max(1, neurons))
    batch = min(spec.training.batch_size, max(1, MAX_STATE // max(1, neurons * steps)))
    return replace(
        spec,
        data=replace(spec.data, steps=steps),
        training=replace(spec.training, batch_size=batch),
    )


@cache  # putting a strategy together takes longer than drawing from it
def _sound_specs() -> st.SearchStrategy[ExperimentSpec]:
    return values(ExperimentSpec, network=values(NetworkSpec, layers=_stacks()))


def _stacks() -> st.SearchStrategy[tuple[LayerSpec, ...]]:
    return st.lists(layers(), min_size=1, max_size=2).map(tuple)


def _fit_readout(spec: ExperimentSpec) -> NetworkSpec:
    readout = fitted(spec.network.readout, class_count(spec.data))
    if isinstance(readout, SpikingReadoutSpec):  # fewer slots than classes are refused
        readout = replace(readout, capacity=None, policy="index")
    return replace(spec.network, readout=readout)


def _fit_network(network: NetworkSpec) -> NetworkSpec:
    trainable = tuple(dict.fromkeys(network.trainable))
    if all(layer.synapse_decay is None for layer in (*network.layers, network.readout)):
        trainable = tuple(name for name in trainable if name != "synapse_decay")
    capacity = any(layer.capacity is not None for layer in spiking_layers(network))
    return replace(
        network,
        trainable=trainable,
        reset_on=network.reset_on if capacity else "state",
        reset_gradient="mask" if network.reset == "none" else network.reset_gradient,
    )


def _fit_device(spec: ExperimentSpec) -> ExperimentSpec:
    device, network = spec.device, spec.network
    if isinstance(device, CPUDevice):
        return spec
    if input_channels(spec.data) > MOST_SENDERS:
        return replace(spec, device=CPUDevice())
    if isinstance(device, IPUDevice):
        trainable = tuple(name for name in network.trainable if name != "decay")
        network = replace(network, trainable=trainable)
    most, places = device.ipus, len(network.layers) + 1
    if any(layer.policy == "top" for layer in spiking_layers(network)):
        most = 1 if device.split == "neurons" else min(most, places)
    if device.split == "layers":
        most = min(most, places)
    power = 2 ** (most.bit_length() - 1)
    device = replace(device, ipus=power)
    return replace(spec, network=network, device=device)


def _has_decay_of_1(network: Any) -> bool:
    decays = (layer.decay for layer in (*network.layers, network.readout))
    return any(1.0 in (d if isinstance(d, tuple) else (d,)) for d in decays)


def _fit_export(spec: ExperimentSpec) -> ExportSpec:
    files = {file.target: file for file in spec.export.nir}.values()
    return ExportSpec(
        nir=tuple(
            replace(file, on_loss="warn") if losses(spec.network, file.target) else file
            for file in files
        )
    )


def _fit_data(data: Any) -> Any:
    """Data in files have one name; the sizes of a worker's own file are known."""
    if isinstance(data, EventsData):
        return replace(data, dataset=data.dataset or "mine", classes=_not_one(data.classes))
    if not isinstance(data, NpzData):
        return data
    if data.dataset is not None:
        return replace(data, name="", classes=_not_one(data.classes))
    sizes = {"channels": data.channels or 1, "classes": max(2, data.classes)}
    return replace(data, name=data.name or "mine", steps=data.steps or 1, **sizes)


def _not_one(classes: int) -> int:
    return 2 if classes == 1 else classes


def _fit_profile(spec: ExperimentSpec) -> ProfileSpec:
    """Gates where they can be checked; the texts that were drawn only choose their number."""
    gates = tuple(f"cycles<={len(text)}" for text in spec.profile.gates)
    profile = ProfileSpec(gates=gates)
    return ProfileSpec() if list(profile.problems_on(spec.device)) else profile


def _fit_training(spec: ExperimentSpec) -> TrainingSpec:
    training, network = spec.training, spec.network
    spikes = isinstance(network.readout, SpikingReadoutSpec)
    loss = training.loss
    if spikes != loss.startswith("spike_count"):
        loss = "spike_count_mse" if spikes else "step_cross_entropy"
    targets, ramp = training.spike_targets, training.second_threshold_ramp
    if ramp is not None:
        ramp = replace(ramp, epochs=min(ramp.epochs, training.epochs))
    hidden = len(network.layers)
    regularisers = tuple(
        bound
        if bound.layers is None
        else replace(bound, layers=tuple(min(at, hidden) for at in bound.layers))
        for bound in training.regularisers
    )
    augmentation = training.augmentation
    if augmentation is not None and image_of(spec.data) is None:
        augmentation = replace(augmentation, flip=False, crop_pixels=0)
    if augmentation is not None and not any(augmentation.model_dump().values()):
        augmentation = None
    optimizer = training.optimizer
    if isinstance(optimizer, SGDSpec) and optimizer.momentum == 0:
        optimizer = replace(optimizer, nesterov=False)
    return replace(
        training,
        loss=loss,
        augmentation=augmentation,
        optimizer=optimizer,
        spike_targets=targets if loss == "spike_count_mse" else None,
        second_threshold_ramp=ramp
        if any(layer.second_threshold is not None for layer in spiking_layers(network))
        else None,
        regularisers=regularisers,
    )


def _fit_synapses(spec: ExperimentSpec) -> NetworkSpec:
    sizes = [
        input_channels(spec.data),
        *(layer.neurons for layer in spec.network.layers),
        class_count(spec.data),
    ]
    pairs = list(pairwise(sizes))
    own = sum(layer.neurons**2 for layer in spec.network.layers if layer.recurrent)
    own += class_count(spec.data) ** 2
    if own + sum(before * after for before, after in pairs) <= MAX_SYNAPSES:
        return spec.network
    share = MAX_SYNAPSES // (2 * len(pairs))  # of every matrix
    widest = min(math.isqrt(share), share // max(sizes[0], sizes[-1]))
    layers = []
    for layer in spec.network.layers:
        neurons = min(layer.neurons, widest)
        layers.append(fitted(replace(layer, neurons=neurons), neurons))
    return replace(spec.network, layers=tuple(layers))


@st.composite
def documents(draw: Any) -> tuple[dict[str, Any], ExperimentSpec]:
    """A JSON document and the spec it says: any of the fields at their default may be left out."""
    spec = draw(specs())
    return _without_some_defaults(draw, type(spec), spec_to_json(spec)), spec


def _without_some_defaults(draw: Any, cls: type[Any], document: dict[str, Any]) -> dict[str, Any]:
    kept = {}
    for name, field in cls.model_fields.items():
        value, hint = document[name], field.annotation
        default = None if field.is_required() else to_jsonable_python(field.default)
        if not field.is_required() and value == default and draw(st.booleans()):
            continue
        item = get_args(hint)[0] if get_origin(hint) is tuple else None
        if is_model(hint):
            value = _without_some_defaults(draw, hint, value)
        elif is_model(item):
            value = [_without_some_defaults(draw, item, element) for element in value]
        kept[name] = value
    return kept
