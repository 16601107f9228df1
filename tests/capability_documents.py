"""Specs of networks of 2 x 8 neurons, one for each cell of the capability table."""

from __future__ import annotations

from typing import Any, Dict, List

from ipulse_core.neurons.constants import TRAINED
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import LAYER_KINDS
from tests.equations import neuron_document
from tests.losses import cross_entropy

Document = Dict[str, Any]
CLASSES, CHANNELS, STEPS, SAMPLES = 2, 8, 6, 16
DIGEST = "0123456789abcdef" * 4

_PARAMETER = {"name": "decay", "value": 0.9, "minimum": 0, "maximum": 0.99}
_OWN = neuron_document(
    [{"name": "u", "update": "decay * u + 3 * I", "reset": "where(r, 0, u)"}], "u - 1", [_PARAMETER]
)
_PACKAGE = {"package": f"coupled_dendrites@sha256:{DIGEST}", "parameters": [_PARAMETER]}
_CONV1D = {"kind": "conv1d", "filters": 2, "kernel_size": 5}
_CONV2D = {"kind": "conv2d", "filters": 4, "kernel_size": [2, 3]}
_LAYERS: Dict[str, Document] = {
    "dense": {"neurons": 8},
    "conv1d": _CONV1D,
    "conv2d": _CONV2D,
    "equations": {"kind": "equations", "neurons": 8, "neuron": _OWN},
    "conv1d_equations": {**_CONV1D, "neuron": _OWN},
    "conv2d_equations": {**_CONV2D, "neuron": _OWN},
    "package": {
        "kind": "package",
        "neurons": 8,
        "neuron": {**_PACKAGE, "parameters": [{"name": "decay", "value": 0.6}]},
    },
    "op": {"kind": "op", "op": f"pool_op@sha256:{DIGEST}", "neurons": 8},
    "leaky": {"kind": "leaky"},
    "spiking": {"kind": "spiking"},
}
_OF_LAYER: Dict[str, Document] = {
    "layer": {},
    "bias": {"bias": True},
    "synapse": {"synapse_decay": 0.5},
    "adaptation": {"adaptation": {}},
    "second_threshold": {"second_threshold": 0.2},
    "gate": {"gate": -0.5},
    "capacity": {"capacity": 2},
    "growing_capacity": {"capacity": {"grow": 2}},
    "cyclic": {"policy": "cyclic"},
    "top": {"policy": "top"},
    "recurrent": {"recurrent": True},
    "residual": {"residual": [1]},
    "dropout": {"dropout": 0.3},
    "standardised": {"standardised": True},
    "quantisation": {"quantisation": {}},
    "frozen": {"trainable": False},
    "layer_delay": {"delay": 1},
    "synapse_delays": {"delays": {"longest": 2}},
    "trained_delays": {"delays": {"longest": 2, "per": "neuron"}},
}
_OF_NETWORK: Dict[str, Document] = {
    **{f"trained_{name}": {"trainable": [name]} for name in TRAINED},
    "reset_subtract": {"reset": "subtract"},
    "reset_none": {"reset": "none"},
    "reset_on_emission": {"reset_on": "emission"},
    "reset_gradient_term": {"reset_gradient": "term"},
    "reset_gradient_none": {"reset_gradient": "none"},
    "delay": {"delay": 1},
    "long_delay": {"delay": 2},
    **{name: {"surrogate": {"name": name}} for name in ("arctan", "boxcar", "exponential")},
    "table": {"surrogate": {"name": "table", "values": [0.0, 1.0, 0.0], "width": 1.0}},
}
_PENALTY = {"kind": "equations", "penalty": "mean(mean_over_time(membrane))"}
_OF_TRAINING: Dict[str, Document] = {
    "truncation": {"truncate_steps": 3},
    "gradient_clipping": {"gradient_clipping": {"value": 1.0}},
    "rate_bound": {"regularisers": [{"kind": "lower"}]},
    "membrane_bound": {"regularisers": [{"kind": "membrane"}]},
    "own_penalty": {"regularisers": [_PENALTY]},
    "layer_spikes": {
        "regularisers": [{**_PENALTY, "penalty": "mean(mean_over_time(layers[0].spikes))"}]
    },
    "layer_membrane": {
        "regularisers": [{**_PENALTY, "penalty": "mean(mean_over_time(layers[0].membrane))"}]
    },
    "ramp": {"second_threshold_ramp": {"epochs": 1}},
    "max_membrane": {"loss": "max_membrane_cross_entropy"},
    "last_membrane": {"loss": "last_membrane_cross_entropy"},
    "step_membrane": {"loss": "step_cross_entropy"},
    "spike_count": {"loss": "spike_count_mse"},
    "first_spikes": {"loss": "first_spike_cross_entropy"},
    "own_loss": {"loss": cross_entropy()},
}
_OF_DEVICE: Dict[str, Document] = {
    "recompute": {"memory": "recompute"},
    "rounded_weights": {"weights_dtype": "bfloat16"},
    "half_weights": {"weights_dtype": "float16"},
    "half_states": {"states_dtype": "float16"},
    "several_ipus": {"ipus": 2},
    "device_training": {"training": "device"},
    "precompile": {"connection_type": "PRE_COMPILE"},
}


def document_of(feature: str, kind_name: str, device: str, *more: str) -> Document:
    """A spec with features, a kind of layer and a kind of device; valid if these fit."""
    kind = LAYER_KINDS[kind_name]
    layer = dict(_LAYERS[kind_name])
    dense: Document = {"neurons": 8}
    network: Document = {}
    training: Document = {"epochs": 1, "batch_size": 8}
    settings: Document = {"kind": device, **({"tiles": 16} if device == "emulator" else {})}
    export: Document = {}
    asked = (feature, *more)
    for name in dict.fromkeys([*asked, *(need for each in asked for need in FEATURES[each].needs)]):
        if name == "capacity" and feature == "reset_on_emission":
            dense.update(_OF_LAYER[name])  # that of the layer may have no effect on its reset
        elif name in _OF_LAYER:
            _set_layer(name, kind_name, layer, dense, asked=name in asked)
        elif name in ("per_neuron", "parameters", "sum_pool", "average_pool"):
            _set_values(name, kind_name, layer)
        network.update(_OF_NETWORK.get(name, {}))
        training.update(_OF_TRAINING.get(name, {}))
        settings.update(_OF_DEVICE.get(name, {}))
        if name == "nir":
            export = {"nir": [{"target": "generic", "on_loss": "warn"}]}
    data = _data(kind.connections)
    if "counts" in asked:
        data["input"] = "counts"
    hidden = [dense, dense] if kind.is_readout else [layer, dense]
    if "residual" in asked and kind.connections.startswith("conv"):
        layer["padding"] = "same"  # as many filters and sites as the layers before it
        before = {name: value for name, value in layer.items() if name != "residual"}
        hidden = [before, before, layer]
    elif "residual" in asked and not kind.is_readout:
        hidden = [dense, dense, layer]
    is_spiking = kind_name == "spiking" or not {"spike_count", "first_spikes"}.isdisjoint(asked)
    network["readout"] = (
        layer if kind.is_readout else {"kind": "spiking" if is_spiking else "leaky"}
    )
    if kind_name == "spiking" and "loss" not in training:
        training["loss"] = "spike_count_cross_entropy"
    if is_spiking and "own_penalty" in asked:
        training["regularisers"] = [{**_PENALTY, "penalty": "mean(spike_count)"}]
    if kind_name == "spiking" and feature == "own_loss":
        training["loss"] = cross_entropy("spike_count")
    return {
        "version": 1,
        "data": data,
        "network": {"layers": hidden, **network},
        "training": training,
        "device": settings,
        "export": export,
    }


def place_of(name: str, document: Document, kind_name: str) -> str:
    """The JSON pointer of a feature, or of the kind of layer, in such a spec."""
    layers: List[Document] = document["network"]["layers"]
    at = "/network/readout"
    if not LAYER_KINDS[kind_name].is_readout:
        at = f"/network/layers/{len(layers) - 1 if len(layers) > 2 else 0}"
    if name not in FEATURES:
        return f"{at}/kind"
    feature = FEATURES[name]
    items = {"trainable": "/0", "regularisers": "/0/kind", "nir": "/0"}
    field = f"{feature.field.split('.')[0]}"
    place = at if feature.place == "layer" else f"/{feature.place}"
    if feature.place == "layer":
        return f"{place}/{field}"
    return f"{place}/{feature.field.replace('.', '/')}{items.get(field, '')}"


def _set_layer(name: str, kind_name: str, layer: Document, dense: Document, asked: bool) -> None:
    """Set fields of a layer; what another feature needs may be in the dense layer instead."""
    has_field = all(field in LAYER_KINDS[kind_name].fields for field in _OF_LAYER[name])
    into = layer if asked or (has_field and kind_name != "leaky") else dense
    has_own = LAYER_KINDS[kind_name].neurons not in ("lif", "leaky")
    if not asked and (
        name == "second_threshold" or (has_own and name in ("synapse", "adaptation"))
    ):
        into = dense  # gates do not rise, and own neurons have other states
    into.update(_OF_LAYER[name])


def _set_values(name: str, kind_name: str, layer: Document) -> None:
    """Set one value per neuron or filter, trained parameters, or a pool."""
    if name.endswith("_pool"):
        size: Any = 2 if kind_name.startswith("conv1d") else [1, 2]
        layer["pool"] = {"kind": name.partition("_")[0], "pool_size": size}
        return
    parameters = layer.get("neuron", {}).get("parameters")
    if parameters is None:
        neurons = int(layer.get("neurons") or layer.get("filters") or CLASSES)
        field = "neuron" if name == "parameters" else "decay"
        layer[field] = _OWN if name == "parameters" else [0.9] * neurons
        return
    count = int(layer.get("neurons") or layer.get("filters") or CLASSES)
    more = {"trainable": True} if name == "parameters" else {"value": [0.6] * count}
    layer["neuron"] = {**layer["neuron"], "parameters": [{**parameters[0], **more}]}


def _data(connections: str) -> Document:
    """Spikes of a file; the channels are an image where a convolution reads them."""
    shape = {"conv1d": [1, 1, CHANNELS], "conv2d": [1, 2, CHANNELS // 2]}.get(connections)
    data = {"kind": "npz", "name": "small", "channels": CHANNELS, "classes": CLASSES}
    return {**data, "steps": STEPS, **({"shape": shape} if shape else {})}
