"""Any valid spec, and any document of it."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from pydantic_core import to_jsonable_python

from ipulse.spec import (
    MAX_STATE,
    MAX_SYNAPSES,
    CPUDevice,
    DelayedRecallData,
    EventsData,
    ExperimentSpec,
    ExportSpec,
    LayerSpec,
    LeakyReadoutSpec,
    NetworkSpec,
    NpzData,
    ProfileSpec,
    SpikingReadoutSpec,
    spec_to_json,
)
from ipulse.spec.data.encoding import LinearLatency
from ipulse_core.spec.derived_values import (
    class_count,
    input_channels,
    input_delays,
    spiking_layers,
)
from ipulse_core.spec.nir_targets import losses
from ipulse_core.spec.start_weights import constant_of
from ipulse_core.spec.time_rounding import earliest_step
from tests.ipulse.strategies.devices import fit_device, fit_device_training

from .delays import fit_delays
from .training import fit_training
from .values import fitted, is_model, layers, replace, values

_RUNS = ("ALWAYS", "ON_DEMAND")  # types of connections


@st.composite
def specs(draw: Any) -> ExperimentSpec:
    """Any valid experiment: sizes are shrunk until the whole fits, nothing is thrown away."""
    spec: ExperimentSpec = draw(_sound_specs())
    spec = replace(spec, data=_fit_data(_fit_outputs(spec)))
    spec = replace(spec, network=_fit_readout(spec))
    spec = replace(spec, network=_fit_synapses(spec))
    if _has_decay_of_1(spec.network):
        kept = tuple(name for name in spec.network.trainable if name != "decay")
        spec = replace(spec, network=replace(spec.network, trainable=kept))
    readout = replace(spec.network.readout, trainable=True)
    spec = replace(spec, network=replace(spec.network, readout=readout))
    spec = replace(spec, network=_fit_network(spec.network), training=fit_training(spec))
    spec = fit_device(spec)
    spec = replace(spec, export=_fit_export(spec), profile=_fit_profile(spec))
    neurons = sum(layer.neurons for layer in spec.network.layers) + class_count(spec.data)
    steps = min(spec.data.steps, MAX_STATE // max(1, neurons))
    batch = min(spec.training.batch_size, max(1, MAX_STATE // max(1, neurons * steps)))
    network = fit_delays(spec, steps)
    delayed = any(layer.delays for layer in (*network.layers, network.readout))
    truncates = isinstance(spec.device, CPUDevice) and not (delayed or any(input_delays(network)))
    truncate = spec.training.truncate_steps if truncates else None
    spec = replace(
        spec,
        network=network,
        data=replace(spec.data, steps=steps),
        training=replace(spec.training, batch_size=batch, truncate_steps=truncate),
    )
    spec = replace(spec, export=_fit_export(spec))
    return replace(spec, device=fit_device_training(spec))


@cache  # putting a strategy together takes longer than drawing from it
def _sound_specs() -> st.SearchStrategy[ExperimentSpec]:
    return values(ExperimentSpec, network=values(NetworkSpec, layers=_stacks()))


def _stacks() -> st.SearchStrategy[tuple[LayerSpec, ...]]:
    return st.lists(layers(), min_size=1, max_size=2).map(tuple)


def _fit_readout(spec: ExperimentSpec) -> NetworkSpec:
    readout = fitted(spec.network.readout, max(1, class_count(spec.data)))
    if isinstance(readout, SpikingReadoutSpec):  # fewer slots than classes are refused
        readout = replace(readout, capacity=None, policy="index")
    return replace(spec.network, readout=readout)


def _fit_residuals(network: NetworkSpec) -> NetworkSpec:
    """Keeps each layer's first addition if its width fits."""
    neurons = [layer.neurons for layer in network.layers]
    found = []
    for index, layer in enumerate((*network.layers, network.readout)):
        fits = [n for n in layer.residual if n < index and neurons[n - 1] == neurons[index - 1]]
        found.append(replace(layer, residual=tuple(fits[:1])))
    return replace(network, layers=tuple(found[:-1]), readout=found[-1])


def _fit_names(network: NetworkSpec) -> NetworkSpec:
    """Makes the names of layers different."""
    found = [
        replace(layer, name=layer.name and f"{layer.name}_{index}")
        for index, layer in enumerate((*network.layers, network.readout))
    ]
    return replace(network, layers=tuple(found[:-1]), readout=found[-1])


def _fit_network(network: NetworkSpec) -> NetworkSpec:
    network = _fit_names(_fit_residuals(network))
    layers = (*network.layers, network.readout)
    trainable = tuple(
        name
        for name in dict.fromkeys(network.trainable)
        if any(constant_of(layer, name) is not None for layer in layers)
    )
    capacity = any(layer.capacity is not None for layer in spiking_layers(network))
    return replace(
        network,
        trainable=trainable,
        reset_on=network.reset_on if capacity else "state",
        reset_gradient="mask" if network.reset == "none" else network.reset_gradient,
    )


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


def _fit_outputs(spec: ExperimentSpec) -> Any:
    """Targets where a leaky readout can be compared with them, and then no classes."""
    data = spec.data
    if isinstance(data, NpzData) and data.outputs:
        is_leaky = isinstance(spec.network.readout, LeakyReadoutSpec)
        return replace(data, **({"classes": 0} if is_leaky else {"outputs": 0}))
    return data


def _fit_data(data: Any) -> Any:
    """Data in files have one name; the sizes of a worker's own file are known."""
    if getattr(data, "judged_on", "test") == "validation":
        data = replace(data, validation=0.0)
    if isinstance(data, (EventsData, NpzData)):
        data = replace(data, shape=None)
    encoding = getattr(data, "encoding", None)
    if encoding is not None and data.steps <= earliest_step(encoding, data.step_ms):
        data = replace(data, encoding=LinearLatency())
    if getattr(data, "encoding", None) is not None:
        data = replace(data, input="spikes")
    if isinstance(data, DelayedRecallData):
        return replace(data, cue_steps=1, steps=max(2, data.steps))
    if isinstance(data, EventsData):
        return replace(data, dataset=data.dataset or "mine", classes=_not_one(data.classes))
    if not isinstance(data, NpzData):
        return data
    if data.dataset is not None:
        return replace(data, name="", classes=_not_one(data.classes))
    classes = 0 if data.outputs else max(2, data.classes)
    sizes = {"channels": data.channels or 1, "classes": classes}
    return replace(data, name=data.name or "mine", steps=data.steps or 1, **sizes)


def _not_one(classes: int) -> int:
    return 2 if classes == 1 else classes


def _fit_profile(spec: ExperimentSpec) -> ProfileSpec:
    """Gates where they can be checked; the texts that were drawn only choose their number."""
    gates = tuple(f"cycles<={len(text)}" for text in spec.profile.gates)
    profile = ProfileSpec(gates=gates)
    device = spec.device
    runs_on_tiles = not isinstance(device, CPUDevice) and device.connection_type in _RUNS
    fits = runs_on_tiles and not list(profile.problems_on(device))
    return profile if fits else ProfileSpec()


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
    widest = min(math.isqrt(share), share // max(1, sizes[0], sizes[-1]))
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
