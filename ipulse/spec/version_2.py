"""The models of version 2, which describe its fields; specs are checked in the form of version 1.

They are made from the fields of version 1 and the table of their places. From them come the JSON
Schema, the OpenAPI document, `ipulse spec fields`, the page's form and the parts of `Experiment`.
They take a moment to make, and are made on first use.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, create_model
from pydantic.fields import FieldInfo

from ipulse.models import ByKind, ByShape, Field, ListOf, StrictModel
from ipulse_core.registry.kinds import LAYER_KINDS
from ipulse_core.registry.layer_paths import (
    CONNECTION,
    LAYER,
    NETWORK_NAMES,
    NEURON,
    OP,
    PARAMETER_NAMES,
    PLACES,
    RECURRENT,
    SKIP,
    USUAL,
    WEIGHTED,
    Place,
    place_of,
)
from ipulse_core.registry.versions import raise_to_2

from .experiment import ExperimentSpec
from .network.conv import Conv1DSpec, Conv2DSpec, SumPoolSpec
from .network.delays import DelaysSpec
from .network.equations import EquationsLayerSpec, NeuronParameterSpec, NeuronSpec
from .network.layers import DelaySteps, LayerSpec, LeakyReadoutSpec
from .network.network import MAX_LAYERS, NetworkSpec
from .network.op import OpLayerSpec
from .network.package import PackageNeuronSpec, PackageParameterSpec

Model = type[StrictModel]
MAX_CONNECTIONS = 18  # a pool, one with weights, a recurrent one and 15 skips
_USUAL = {"usual": True}
_Fields = dict[str, tuple[Any, FieldInfo]]
_OF_VERSION_1: Mapping[str, Model] = {
    "dense": LayerSpec,
    "conv1d": Conv1DSpec,
    "conv2d": Conv2DSpec,
    "op": OpLayerSpec,
    "leaky": LeakyReadoutSpec,
}
# Names and sentences of the models, by kind.
_CONNECTIONS = {
    "dense": (
        "DenseConnection",
        "Every neuron, or input channel, of the layer before is connected with every neuron.",
    ),
    "conv1d": (
        "Conv1DConnection",
        "A one-dimensional event-driven convolution; convolutions come before dense connections.",
    ),
    "conv2d": (
        "Conv2DConnection",
        "A two-dimensional event-driven convolution; convolutions come before dense connections.",
    ),
    RECURRENT: (
        "RecurrentConnection",
        "The layer also receives its own spikes of the previous step, through trained weights; a "
        "convolution through a kernel of its kernel_size from all filters to all, without strides "
        "and with padding same.",
    ),
    SKIP: (
        "SkipConnection",
        "Adds the spikes of an earlier layer to those of the layer before, which has as many "
        "neurons, behind pools an image of the same size.",
    ),
    "sum_pool": (
        "SumPoolConnection",
        "Sums the spikes of neighbouring neurons of a filter; the layer before is a convolution. "
        "Windows do not overlap.",
    ),
    "average_pool": (
        "AveragePoolConnection",
        "Sums spikes in windows, and divides the weights behind it by the size of a window.",
    ),
}
_FROM = "The layer whose spikes are added, by its name; without a name `layers[0]` and so on."
_LIF = (
    "Leaky integrate-and-fire neurons. A constant is one number, or a list with one number per "
    "neuron, in a convolution per filter."
)
_LAYER = (
    "A hidden layer: a list of connections, which give its neurons their input current, and one "
    "kind of neuron. `{neurons: 512}` is a dense layer of LIF neurons."
)
_READOUT = "The output layer, with one neuron per class; leaky integrators have no capacity."


@cache
def experiment() -> Model:
    """Returns the model of an experiment."""
    fields = _fields(ExperimentSpec)
    fields["version"] = _field(Literal[2], description="Version of this schema.")
    fields["network"] = (network(), fields["network"][1])
    extra: Any = ExperimentSpec.model_config["json_schema_extra"]
    examples = [raise_to_2(example) for example in extra["examples"]]
    return _model("ExperimentSpecV2", ExperimentSpec.__doc__, fields, {"examples": examples})


@cache
def network() -> Model:
    """Returns the model of a network."""
    fields = {NETWORK_NAMES.get(name, name): each for name, each in _fields(NetworkSpec).items()}
    fields["layers"] = _field(
        Annotated[_list_of(layer()), Field(min_length=1, max_length=MAX_LAYERS)],
        description="The hidden layers, input side first.",
    )
    fields["readout"] = _field(
        layer(is_readout=True),
        default={NEURON: {"kind": "leaky"}},
        description="The output layer.",
    )
    return _model("NetworkV2", NetworkSpec.__doc__, fields)


@cache
def layer(is_readout: bool = False) -> Model:
    """Returns the model of a hidden layer, or of the readout."""
    own = _placed("dense", LAYER)
    usual = "leaky" if is_readout else "lif"
    fields = {"name": own.pop("name")}
    neurons = own.pop("neurons")
    if not is_readout:
        words = "Neurons in the layer; a convolution has `filters` in its connection."
        fields["neurons"] = _changed(neurons, default_factory=_nothing, description=words)
    found = [
        model
        for kind, model in connections().items()
        if not (is_readout and kind in ("conv1d", "conv2d"))
    ]
    fields["connections"] = _field(
        Annotated[_list_of(_union(found, "dense")), Field(max_length=MAX_CONNECTIONS)],
        default=({"kind": "dense"},),
        description="What the layer receives: a pool, which comes first, one connection with input "
        "weights, a recurrent one and skips. Beside an op pools and skips only.",
        json_schema_extra=_USUAL,
    )
    fields[NEURON] = _field(
        _union([neuron(kind) for kind in _neurons(is_readout)], usual),
        default={"kind": usual},
        description="The kind of the neurons, and their constants.",
        json_schema_extra=_USUAL,
    )
    if not is_readout:
        words = "A custom op in place of weights and neurons; null: none."
        fields[OP] = _field(op() | None, default=None, description=words)
    name, text = ("ReadoutV2", _READOUT) if is_readout else ("LayerV2", _LAYER)
    return _model(name, text, {**fields, **own})


@cache
def connections() -> Mapping[str, Model]:
    """Returns the models of connections by their kinds."""
    found = {}
    for kind, (name, text) in _CONNECTIONS.items():
        fields = _tag(kind, "Connection.", is_usual=kind == "dense")
        if kind in _OF_VERSION_1:
            fields |= _placed(kind, CONNECTION)
        elif kind == SKIP:
            fields["from"] = _field(str, description=_FROM, examples=["layers[0]"])
        elif kind != RECURRENT:
            fields["pool_size"] = _own("pool_size", SumPoolSpec)
        if kind in WEIGHTED:
            either = Annotated[DelaySteps | DelaysSpec, ByShape()] | None
            words = f"{fields['delay'][1].description} An object: delays of single connections."
            fields["delay"] = _field(either, default=None, description=words)
        found[kind] = _model(name, text, fields)
    return found


@cache
def neuron(kind: str) -> Model:
    """Returns the model of a kind of neurons: lif, leaky, equations or package."""
    fields = _tag(kind, "Neuron.", is_usual=kind in ("lif", "leaky"))
    if kind == "lif":
        return _model("LIFNeuron", _LIF, {**fields, **_placed("dense", NEURON)})
    if kind == "leaky":
        text = "Leaky integrators without spikes; a network has them in its readout only."
        return _model("LeakyNeuron", text, {**fields, **_placed("leaky", NEURON)})
    if kind == "package":
        fields |= _fields(PackageNeuronSpec)
        parameter = _parameter("PackageParameter", PackageParameterSpec)
        fields["parameters"] = (tuple[parameter, ...], fields["parameters"][1])  # type: ignore[valid-type]
        return _model("PackageNeuron", PackageNeuronSpec.__doc__, fields)
    fields |= _fields(NeuronSpec)
    parameter = equations_parameter()
    fields["parameters"] = (tuple[parameter, ...], fields["parameters"][1])  # type: ignore[valid-type]
    fields["second_threshold"] = _own("gate", EquationsLayerSpec)
    return _model("EquationsNeuron", NeuronSpec.__doc__, fields)


@cache
def equations_parameter() -> Model:
    """Returns the model of a parameter of equations."""
    return _parameter("EquationsParameter", NeuronParameterSpec)


@cache
def op() -> Model:
    """Returns the model of a custom op in a layer."""
    return _model("OpOfLayer", OpLayerSpec.__doc__, _placed("op", OP))


def _neurons(is_readout: bool) -> Iterable[str]:
    return ("leaky", "lif") if is_readout else ("lif", "equations", "package")


def _parameter(name: str, model: Model) -> Model:
    """Returns the model of a parameter of equations or packages."""
    fields = {PARAMETER_NAMES.get(old, old): each for old, each in _fields(model).items()}
    return _model(name, model.__doc__, fields)


def _placed(kind: str, part: str) -> _Fields:
    """Returns the fields that a part of layers of a kind has, by their names in version 2."""
    model, found = _OF_VERSION_1[kind], {}
    for name in model.model_fields:
        if name in PLACES and name not in ("gate", "neuron", "delays"):
            place = place_of(name, LAYER_KINDS[kind])
            if place.part == part:
                found[place.name] = _own(name, model, place)
    return found


def _fields(model: Model) -> _Fields:
    return {name: _own(name, model) for name in model.model_fields}


def _own(name: str, model: Model, place: Place | None = None) -> tuple[Any, FieldInfo]:
    """Returns type and facts of a field of version 1."""
    info = copy.copy(model.model_fields[name])
    if place in USUAL:
        extra = info.json_schema_extra
        info.json_schema_extra = {**(extra if isinstance(extra, dict) else {}), **_USUAL}
    return info.annotation, info


def _changed(field: tuple[Any, FieldInfo], **facts: Any) -> tuple[Any, FieldInfo]:
    changed = copy.copy(field[1])
    for name, value in facts.items():
        setattr(changed, name, value)
    return field[0], changed


def _field(annotation: Any, **facts: Any) -> tuple[Any, FieldInfo]:
    info: FieldInfo = Field(**facts)
    return annotation, info


def _tag(kind: str, text: str, is_usual: bool) -> _Fields:
    """Returns the field that says of which kind a part is."""
    usual = {"default": kind} if is_usual else {}
    return {"kind": _field(Literal[kind], description=text, **usual)}


def _union(members: Iterable[Model], usual: str) -> Any:
    return Annotated[reduce(or_, members), ByKind(default=usual)]


def _list_of(item: Any) -> Any:
    return ListOf[item]


def _nothing() -> None:
    """Returns the value of a field that is absent."""


def _model(
    name: str, text: str | None, fields: _Fields, extra: dict[str, Any] | None = None
) -> Model:
    base = type(name, (StrictModel,), {"model_config": ConfigDict(json_schema_extra=extra)})
    made: Model = create_model(  # type: ignore[call-overload]
        name, __base__=base, __doc__=text, __module__=__name__, **fields
    )
    return made
