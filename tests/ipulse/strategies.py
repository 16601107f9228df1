"""Hypothesis strategies: any valid value of a schema class, and any document that says it.

They read the same field descriptions as the parser, so a new field is covered when it is written.
"""

from __future__ import annotations

import dataclasses
import math
import string
from functools import lru_cache
from typing import Any, Dict, Literal, Mapping, Tuple, Type, Union, get_args, get_origin

from hypothesis import strategies as st

from ipulse.spec import (
    MAX_STATE,
    MAX_SYNAPSES,
    SGD,
    CPUDevice,
    EmulatorDevice,
    ExperimentSpec,
    FrozenNoiseData,
    GrowingCapacity,
    IPUDevice,
    LeakyReadout,
    LIFLayer,
    Network,
    NpzData,
    PoissonData,
    RandmanData,
    SpikeTargets,
    SpikingReadout,
    Training,
    spec_to_json,
)
from ipulse.spec.experiment import MOST_SENDERS
from ipulse_core import schema

MOST_LISTED = 12  # neurons of which a list has one number each: longer ones only take time

# Every character that a text field accepts: no lone surrogate, no control character.
CHARACTERS = st.characters(blacklist_categories=("Cs", "Cc"))
NAME_CHARACTERS = string.ascii_letters + string.digits + "._-"
# Sizes whose product has a limit too: the most of each that always stay below it.
MOST: Dict[Type[Any], Dict[str, int]] = {
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


def values(cls: Type[Any], **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any instance of a schema class whose fields are sound one by one; `known` overrides."""
    parts = {}
    for field, hint in schema.fields_of(cls):
        limits = dict(field.metadata)
        if field.name in MOST.get(cls, {}):
            limits["le"] = MOST[cls][field.name]
        parts[field.name] = known.get(field.name, of_type(hint, limits))
    return st.builds(cls, **parts)


def of_type(hint: Any, limits: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Any value that a field of this type and with these limits may hold."""
    if hint is SpikeTargets:
        return st.sets(st.floats(0, 1e6), min_size=2, max_size=2).map(
            lambda two: SpikeTargets(right=max(two), wrong=min(two))
        )
    if hint is GrowingCapacity:
        return values(GrowingCapacity).map(_ordered)
    if hint in (EmulatorDevice, IPUDevice):
        return values(hint, **IPUS)
    if dataclasses.is_dataclass(hint):
        return layers() if hint is LIFLayer else values(hint)  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return st.one_of(*(of_type(member, limits) for member in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        most = min(limits.get("max_items") or 3, 3)
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


def _ordered(capacity: GrowingCapacity) -> GrowingCapacity:
    most = None if capacity.most is None else max(capacity.most, capacity.grow)
    return dataclasses.replace(capacity, most=most)


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


def layers(most_neurons: int = 65_535) -> st.SearchStrategy[LIFLayer]:
    """Any valid layer: what binds its fields together holds too."""
    sized = values(LIFLayer, neurons=st.integers(1, most_neurons))
    return sized.map(lambda layer: fitted(layer, layer.neurons))


def fitted(layer: Any, neurons: int) -> Any:
    """A layer or readout whose fields fit together, if it has so many neurons."""
    changes: Dict[str, Any] = {}
    for name in ("decay", "synapse_decay", "threshold", "second_threshold"):
        value = getattr(layer, name, None)
        if isinstance(value, tuple):
            few = neurons <= MOST_LISTED and value
            changes[name] = (value * neurons)[:neurons] if few else max(value, default=0.5)
    layer = dataclasses.replace(layer, **changes)
    if isinstance(layer, LeakyReadout):
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
    return dataclasses.replace(layer, **changes)


def _least(value: Any) -> float:
    return min(value) if isinstance(value, tuple) else value


@st.composite
def specs(draw: Any) -> ExperimentSpec:
    """Any valid experiment: sizes are shrunk until the whole fits, nothing is thrown away."""
    spec: ExperimentSpec = draw(_sound_specs())
    spec = dataclasses.replace(spec, network=_fit_readout(spec))
    spec = dataclasses.replace(spec, network=_fit_synapses(spec))
    spec = dataclasses.replace(
        spec, network=_fit_network(spec.network), training=_fit_training(spec)
    )
    spec = _fit_device(spec)
    neurons = sum(layer.neurons for layer in spec.network.layers) + spec.data.classes
    steps = min(spec.data.steps, MAX_STATE // neurons)
    batch = min(spec.training.batch_size, max(1, MAX_STATE // (neurons * steps)))
    return dataclasses.replace(
        spec,
        data=dataclasses.replace(spec.data, steps=steps),
        training=dataclasses.replace(spec.training, batch_size=batch),
    )


@lru_cache(maxsize=None)  # putting a strategy together takes longer than drawing from it
def _sound_specs() -> st.SearchStrategy[ExperimentSpec]:
    return values(ExperimentSpec, network=values(Network, layers=_stacks()))


def _stacks() -> st.SearchStrategy[Tuple[LIFLayer, ...]]:
    return st.lists(layers(), min_size=1, max_size=2).map(tuple)


def _fit_readout(spec: ExperimentSpec) -> Network:
    readout = fitted(spec.network.readout, spec.data.classes)
    if isinstance(readout, SpikingReadout):  # fewer slots than classes are refused
        readout = dataclasses.replace(readout, capacity=None, policy="index")
    return dataclasses.replace(spec.network, readout=readout)


def _fit_network(network: Network) -> Network:
    trainable = tuple(dict.fromkeys(network.trainable))
    if all(layer.synapse_decay is None for layer in (*network.layers, network.readout)):
        trainable = tuple(name for name in trainable if name != "synapse_decay")
    capacity = any(layer.capacity is not None for layer in network.spiking)
    return dataclasses.replace(
        network,
        trainable=trainable,
        reset_on=network.reset_on if capacity else "state",
        reset_gradient="mask" if network.reset == "none" else network.reset_gradient,
    )


def _fit_device(spec: ExperimentSpec) -> ExperimentSpec:
    device, network = spec.device, spec.network
    if isinstance(device, CPUDevice):
        return spec
    if spec.data.inputs > MOST_SENDERS:
        return dataclasses.replace(spec, device=CPUDevice())
    if isinstance(device, IPUDevice):
        trainable = tuple(name for name in network.trainable if name != "decay")
        network = dataclasses.replace(network, trainable=trainable)
    most, places = device.ipus, len(network.layers) + 1
    if any(layer.policy == "top" for layer in network.spiking):
        most = 1 if device.split == "neurons" else min(most, places)
    if device.split == "layers":
        most = min(most, places)
    power = 2 ** (most.bit_length() - 1)
    device = dataclasses.replace(device, ipus=power)
    return dataclasses.replace(spec, network=network, device=device)


def _fit_training(spec: ExperimentSpec) -> Training:
    training, network = spec.training, spec.network
    spikes = isinstance(network.readout, SpikingReadout)
    loss = training.loss
    if spikes != loss.startswith("spike_count"):
        loss = "spike_count_mse" if spikes else "step_cross_entropy"
    targets, ramp = training.spike_targets, training.second_threshold_ramp
    if ramp is not None:
        ramp = dataclasses.replace(ramp, epochs=min(ramp.epochs, training.epochs))
    hidden = len(network.layers)
    regularisers = tuple(
        bound
        if bound.layers is None
        else dataclasses.replace(bound, layers=tuple(min(at, hidden) for at in bound.layers))
        for bound in training.regularisers
    )
    optimizer = training.optimizer
    if isinstance(optimizer, SGD) and optimizer.momentum == 0:
        optimizer = dataclasses.replace(optimizer, nesterov=False)
    return dataclasses.replace(
        training,
        loss=loss,
        optimizer=optimizer,
        spike_targets=targets if loss == "spike_count_mse" else None,
        second_threshold_ramp=ramp
        if any(layer.second_threshold is not None for layer in network.spiking)
        else None,
        regularisers=regularisers,
    )


def _fit_synapses(spec: ExperimentSpec) -> Network:
    sizes = [spec.data.inputs, *(layer.neurons for layer in spec.network.layers), spec.data.classes]
    pairs = list(zip(sizes, sizes[1:]))
    own = sum(layer.neurons**2 for layer in spec.network.layers if layer.recurrent)
    own += spec.data.classes**2
    if own + sum(before * after for before, after in pairs) <= MAX_SYNAPSES:
        return spec.network
    share = MAX_SYNAPSES // (2 * len(pairs))  # of every matrix
    widest = min(math.isqrt(share), share // max(sizes[0], sizes[-1]))
    layers = []
    for layer in spec.network.layers:
        neurons = min(layer.neurons, widest)
        layers.append(fitted(dataclasses.replace(layer, neurons=neurons), neurons))
    return dataclasses.replace(spec.network, layers=tuple(layers))


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
