"""The features of networks, trainings and devices as plain data, and where a spec uses them.

A spec is `ipulse.spec.ExperimentSpec` or the document that the runner reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ipulse_core.equations.loss import FIRST_SPIKE, MEMBRANE, equation_texts, names_in
from ipulse_core.equations.neuron import MOST_TABLE_VALUES
from ipulse_core.neurons.constants import BY_NAME, ROWS, TRAINED
from ipulse_core.registry.kinds import kind_of
from ipulse_core.spec.conv_layers import is_conv
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import (
    bounded_layers,
    class_count,
    has_own_loss,
    input_delays,
    loss_name,
    reads_first_spikes,
    reads_spikes,
    spiking_layers,
    splits_neurons,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import equations_in, values_read
from ipulse_core.spec.neuron_packages import has_package
from ipulse_core.spec.start_weights import constant_of

SET = object()  # any value but the neutral one
LAYER, NETWORK, TRAINING, DEVICE, EXPORT = "layer", "network", "training", "device", "export"
DATA = "data"


@dataclass(frozen=True)
class Feature:
    """A feature of a network, a training or a device.

    name: key in the capability table.
    place: the part of a spec that asks for it: "layer", "network", "training", "device", "export"
        or "data".
    field: path of its field in that part, dotted.
    sentence: what it is, for people.
    value: the value of the field that asks for it; SET: any but the neutral one.
    needs: other features, and facts of `Refusal.combined_with`, without which a spec with it is not
        valid.
    """

    name: str
    place: str
    field: str
    sentence: str
    value: Any = SET
    needs: Tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The name of the field in its part, without the fields of its own parts."""
        return self.field.partition(".")[0]


class Use(NamedTuple):
    """A place of a spec that asks for a feature.

    pointer: JSON pointer of the place. value: its value, for messages. layer: index of the layer,
    the readout last; None where it is no layer's.
    """

    pointer: str
    value: Any = None
    layer: Optional[int] = None


_CAPACITY, _SECOND = ("capacity",), ("second_threshold",)
_TRAINED = ("device_training",)
_LAYER_FEATURES = (
    Feature("layer", LAYER, "kind", "The layer itself"),
    Feature("bias", LAYER, "bias", "A trained constant current"),
    Feature("per_neuron", LAYER, "decay", "Constants with one value per neuron"),
    Feature("synapse", LAYER, "synapse_decay", "A synaptic current (CubaLIF)"),
    Feature("adaptation", LAYER, "adaptation", "Adaptive thresholds (ALIF)"),
    Feature("second_threshold", LAYER, "second_threshold", "Gradient through few neurons"),
    Feature("gate", LAYER, "gate", "Gradient through few neurons, with equations"),
    Feature("capacity", LAYER, "capacity", "A fixed number of spikes per step"),
    Feature("growing_capacity", LAYER, "capacity.grow", "A capacity that grows"),
    Feature("cyclic", LAYER, "policy", "A capacity from a drawn neuron", "cyclic", _CAPACITY),
    Feature("top", LAYER, "policy", "A capacity for the highest membranes", "top", _CAPACITY),
    Feature("recurrent", LAYER, "recurrent", "Recurrent connections"),
    Feature("residual", LAYER, "residual", "Residual additions of spikes"),
    Feature("sum_pool", LAYER, "pool.kind", "A pool that sums spikes", "sum"),
    Feature("average_pool", LAYER, "pool.kind", "A pool that averages spikes", "average"),
    Feature("dropout", LAYER, "dropout", "Dropout of senders"),
    Feature("standardised", LAYER, "standardised", "Standardised weights"),
    Feature("quantisation", LAYER, "quantisation", "Quantised weights"),
    Feature("frozen", LAYER, "trainable", "Weights that are not trained", False),
    Feature("layer_delay", LAYER, "delay", "A delay of one layer"),
    Feature("synapse_delays", LAYER, "delays.per", "A delay for each synapse", "synapse"),
    Feature("trained_delays", LAYER, "delays.per", "A trained delay for each sender", "neuron"),
    Feature("parameters", LAYER, "neuron.parameters", "Trained parameters of own neurons"),
)


def _needs(constant: str) -> Tuple[str, ...]:
    """Returns what gives a layer a constant that not every layer has."""
    root = BY_NAME[constant].path[0]
    is_optional = BY_NAME[constant].is_optional
    return tuple(each.name for each in _LAYER_FEATURES if is_optional and each.field == root)


_NETWORK_FEATURES = (
    *(
        Feature(f"trained_{name}", NETWORK, "trainable", f"A trained {name}", name, _needs(name))
        for name in TRAINED
    ),
    Feature("reset_subtract", NETWORK, "reset", "Reset by subtraction", "subtract"),
    Feature("reset_none", NETWORK, "reset", "No reset", "none"),
    Feature(
        "reset_on_emission", NETWORK, "reset_on", "Reset of sent spikes", "emission", _CAPACITY
    ),
    Feature("reset_gradient_term", NETWORK, "reset_gradient", "No gradient of the reset", "term"),
    Feature("reset_gradient_none", NETWORK, "reset_gradient", "The reset's whole gradient", "none"),
    Feature("delay", NETWORK, "delay", "A delay of one step between layers", 1),
    Feature("long_delay", NETWORK, "delay", "A delay of several steps between layers"),
    Feature("arctan", NETWORK, "surrogate.name", "The surrogate arctan", "arctan"),
    Feature("boxcar", NETWORK, "surrogate.name", "The surrogate boxcar", "boxcar"),
    Feature("exponential", NETWORK, "surrogate.name", "The surrogate exponential", "exponential"),
    Feature("table", NETWORK, "surrogate.name", "A surrogate of your own", "table"),
)
_TRAINING_FEATURES = (
    Feature("truncation", TRAINING, "truncate_steps", "Truncated gradients"),
    Feature("gradient_clipping", TRAINING, "gradient_clipping", "Clipped gradients"),
    Feature("rate_bound", TRAINING, "regularisers", "Bounds on spike rates"),
    Feature("membrane_bound", TRAINING, "regularisers", "Bounds on membranes"),
    Feature("own_penalty", TRAINING, "regularisers", "A regulariser of your own equations"),
    Feature("layer_spikes", TRAINING, "regularisers", "Equations of a layer's spikes"),
    Feature("layer_membrane", TRAINING, "regularisers", "Equations of a hidden layer's membrane"),
    Feature(
        "ramp",
        TRAINING,
        "second_threshold_ramp",
        "Rising second thresholds",
        needs=_SECOND,
    ),
    Feature("max_membrane", TRAINING, "loss", "A loss of the membrane's maximum"),
    Feature("last_membrane", TRAINING, "loss", "A loss of the membrane's last value"),
    Feature("step_membrane", TRAINING, "loss", "A loss of the membrane at each step"),
    Feature("spike_count", TRAINING, "loss", "A loss of spike counts"),
    Feature("first_spikes", TRAINING, "loss", "A loss of first spikes"),
    Feature("own_loss", TRAINING, "loss", "A loss of your own equations"),
)
_DEVICE_FEATURES = (
    Feature("recompute", DEVICE, "memory", "Recomputed states", "recompute"),
    Feature("rounded_weights", DEVICE, "weights_dtype", "Weights of bfloat16", "bfloat16"),
    Feature(
        "half_weights",
        DEVICE,
        "weights_dtype",
        "Weights of float16",
        "float16",
        _TRAINED,
    ),
    Feature("half_states", DEVICE, "states_dtype", "States of float16", "float16"),
    Feature("several_ipus", DEVICE, "ipus", "Several IPUs"),
    Feature("device_training", DEVICE, "training", "Loss and update on the device", "device"),
    Feature("precompile", DEVICE, "connection_type", "Compiled for later", "PRE_COMPILE"),
)
_DATA_FEATURES = (Feature("counts", DATA, "input", "Input of event counts", "counts"),)
_EXPORT_FEATURES = (Feature("nir", EXPORT, "nir", "Export to NIR"),)

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        *(*_LAYER_FEATURES, *_NETWORK_FEATURES, *_TRAINING_FEATURES),
        *(*_DEVICE_FEATURES, *_DATA_FEATURES, *_EXPORT_FEATURES),
    )
}
# Losses by feature; those of spikes and of equations are looked up by what they read.
_LOSSES = {
    "max_membrane_cross_entropy": "max_membrane",
    "last_membrane_cross_entropy": "last_membrane",
    "last_membrane_mse": "last_membrane",
    "step_cross_entropy": "step_membrane",
    "step_mse": "step_membrane",
}


def uses_of(spec: Any) -> Dict[str, List[Use]]:
    """Returns the places of each feature, and of each fact in `Refusal.combined_with`."""
    found: Dict[str, List[Use]] = {}
    for name, use in [*_in_network(spec.network), *_in_spec(spec), *_of_sizes(spec)]:
        found.setdefault(name, []).append(use)
    return found


def uses_in_network(network: Any) -> Dict[str, List[Use]]:
    """Returns those of them that a network alone has; pointers begin at it."""
    found: Dict[str, List[Use]] = {}
    for name, use in _in_network(network, ""):
        found.setdefault(name, []).append(use)
    return found


def _in_network(network: Any, at: str = "/network") -> Iterator[Tuple[str, Use]]:
    layers = [*network.layers, network.readout]
    seen_dense = False
    first_dense = 0  # of the dense LIF layers before a layer, without others between them
    for index, layer in enumerate(layers):
        place = f"{at}/layers/{index}" if index < len(network.layers) else f"{at}/readout"
        for fact in kind_of(layer).facts:
            yield fact, Use(f"{place}/kind", layer.kind, index)
        if seen_dense and is_conv(layer):
            yield "convolution_behind_dense", Use(f"{place}/kind", layer.kind, index)
        seen_dense = seen_dense or not is_conv(layer)
        for feature in _LAYER_FEATURES:
            if _asks(layer, feature):
                yield feature.name, Use(f"{place}/{feature.root}", layer=index)
        for at_item, number in enumerate(field_of(layer, "residual")):
            is_inside = first_dense < index and layer.kind in ("dense", "leaky", "spiking")
            if is_inside and number <= first_dense:
                yield "residual_over_parts", Use(f"{place}/residual/{at_item}", number, index)
        for at_item, parameter in enumerate(layer.neuron.parameters if has_package(layer) else ()):
            if parameter.trainable:
                pointer = f"{place}/neuron/parameters/{at_item}/trainable"
                yield "package_parameters", Use(pointer, layer=index)
        if layer.kind != "dense":
            first_dense = index + 1
        pool = field_of(layer, "pool")
        behind = layers[index + 1] if pool is not None else None
        if behind is not None and is_op(behind) and pool.kind == "average":
            yield "average_before_op", Use(f"{place}/pool/kind", pool.kind, index)
    for index, name in enumerate(network.trainable):
        yield f"trained_{name}", Use(f"{at}/trainable/{index}", name)
    for feature in _NETWORK_FEATURES:
        value = _value(network, feature.field)
        if feature.name == "long_delay":
            if value > 1:
                yield "long_delay", Use(f"{at}/delay", value)
        elif feature.root != "trainable" and value == feature.value:
            yield feature.name, Use(f"{at}/{feature.field.replace('.', '/')}", value)
    values = getattr(network.surrogate, "values", ())
    if len(values) > MOST_TABLE_VALUES:
        yield "long_table", Use(f"{at}/surrogate/values", len(values))
    if any(input_delays(network)):
        yield "delayed", Use(f"{at}/delay")


def _asks(layer: Any, feature: Feature) -> bool:
    """Returns whether a layer asks for a feature."""
    if feature.name == "per_neuron":
        values = [constant_of(layer, row.name) for row in ROWS]
        neuron = field_of(layer, "neuron")
        values += [] if neuron is None else [each.value for each in neuron.parameters]
        return any(isinstance(value, tuple) for value in values)
    if feature.name == "parameters":
        neuron = field_of(layer, "neuron")
        return neuron is not None and any(each.trainable for each in neuron.parameters)
    if feature.name == "layer":
        return True
    if feature.name == "layer_delay":
        return layer.delay is not None
    root, _, inner = feature.field.partition(".")
    value = field_of(layer, root)
    if root == "capacity":
        grows = hasattr(value, "grow")
        return grows if feature.name == "growing_capacity" else value is not None and not grows
    if inner:
        value = None if value is None else getattr(value, inner)
    if feature.value is not SET:
        return bool(value == feature.value)
    return value not in (0, None, (), False)


def _value(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = getattr(part, name)
    return part


def _in_spec(spec: Any) -> Iterator[Tuple[str, Use]]:
    training, device = spec.training, spec.device
    if field_of(spec.data, "input") == "counts":
        yield "counts", Use("/data/input", "counts")
    if training.truncate_steps is not None:
        yield "truncation", Use("/training/truncate_steps", training.truncate_steps)
    if any(value is not None for value in vars(training.gradient_clipping).values()):
        yield "gradient_clipping", Use("/training/gradient_clipping")
    for number, bound in enumerate(training.regularisers):
        place = f"/training/regularisers/{number}/kind"
        if bound.kind != "membrane":
            name = "own_penalty" if bound.kind == "equations" else "rate_bound"
            yield name, Use(place, bound.kind)
            continue
        for index in bounded_layers(bound, len(spec.network.layers)):
            yield "membrane_bound", Use(place, bound.kind, index)
    hidden = len(spec.network.layers)
    for pointer, described in equations_in(training):
        place = pointer if pointer == "/training/loss" else f"{pointer}/kind"
        if place != pointer and FIRST_SPIKE in names_in(equation_texts(described)):
            yield "first_spikes", Use(place, described.name)
        values = values_read(spec.network, described)
        for layer in sorted(layer for layer, what in values if what == MEMBRANE and layer < hidden):
            yield "layer_membrane", Use(place, described.name, layer)
        if any(what != MEMBRANE or layer == hidden for layer, what in values):
            yield "layer_spikes", Use(place, described.name)
    if training.second_threshold_ramp is not None:
        yield "ramp", Use("/training/second_threshold_ramp")
    loss = Use("/training/loss", loss_name(training))
    if has_own_loss(training):
        yield "own_loss", loss
    elif loss.value in _LOSSES:
        yield _LOSSES[loss.value], loss
    if reads_first_spikes(training):
        yield "first_spikes", loss
    elif reads_spikes(training):
        yield "spike_count", loss
    for feature in _DEVICE_FEATURES:
        if feature.name == "precompile":
            value = device.connection_type
        else:
            value = field_of(device, feature.field)
        if value != 1 if feature.name == "several_ipus" else value == feature.value:
            yield feature.name, Use(f"/device/{feature.field}", value)
    for index, export in enumerate(spec.export.nir):
        yield "nir", Use(f"/export/nir/{index}", export.target)
    if spec.profile.gates:
        yield "profile_gates", Use("/profile/gates", device.connection_type)
    if device.connection_type in ("PRE_COMPILE", "NEVER"):
        yield "only_compiles", Use("/device/connection_type", device.connection_type)


def _of_sizes(spec: Any) -> Iterator[Tuple[str, Use]]:
    """Yields what is too large or too small for tiles."""
    network, device = spec.network, spec.device
    places = len(network.layers) + 1
    if field_of(device, "split") == "layers" and device.ipus > places:
        yield "more_ipus_than_layers", Use("/device/split", device.ipus)
    if field_of(device, "ipus") == 1 or not splits_neurons(device, places):
        return
    for index, layer in enumerate(spiking_layers(network)):
        # A layer of one or two neurons is not split: they share a tile.
        neurons = class_count(spec.data) if index == places - 1 else field_of(layer, "neurons")
        if field_of(layer, "policy") == "top" and neurons > 2:
            place = f"/network/layers/{index}" if index < places - 1 else "/network/readout"
            yield "top_over_ipus", Use(f"{place}/policy", "top", index)
