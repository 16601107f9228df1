"""The network of an experiment: LIF layers, a readout, and how they are simulated."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from ipulse.models import ByKind, Field, ListOf, StrictModel, few
from ipulse_core.errors import Problem
from ipulse_core.neurons.constants import ROWS, TRAINED
from ipulse_core.registry.refusals import network_problems
from ipulse_core.spec.custom_ops import MAX_OPS, indexed_ops, op_layers, op_names
from ipulse_core.spec.derived_values import first_capacity, spiking_layers
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import layer_name
from ipulse_core.spec.start_weights import constant_of

from .conv import Conv1DSpec, Conv2DSpec, ConvSpec
from .equations import EquationsLayerSpec
from .initial import InitialSpec
from .layers import DelaySteps, LayerSpec, LeakyReadoutSpec, Readout
from .op import OpLayerSpec
from .package import PackageLayerSpec
from .surrogate import SuperSpikeSpec, Surrogate

MAX_LAYERS = 16
HiddenLayer = Annotated[
    LayerSpec | Conv2DSpec | Conv1DSpec | OpLayerSpec | EquationsLayerSpec | PackageLayerSpec,
    ByKind(default="dense", is_named=False),
]

# Constants that layers may lack and that can be trained.
_OPTIONAL = tuple(row for row in ROWS if row.is_optional and row.is_trained)
if TYPE_CHECKING:
    TrainedConstant = str
else:
    TrainedConstant = Literal[TRAINED]


class NetworkSpec(StrictModel):
    """LIF layers and a readout."""

    layers: Annotated[
        ListOf[HiddenLayer], Field(min_length=1, max_length=MAX_LAYERS), few(MAX_LAYERS)
    ] = Field(description="The hidden layers, input side first. Convolutions come first.")
    readout: Annotated[Readout, ByKind(default="leaky")] = Field(
        default=LeakyReadoutSpec(), description="The output layer."
    )
    surrogate: Annotated[Surrogate, ByKind(default="superspike", tag="name")] = Field(
        default=SuperSpikeSpec(), description="The surrogate gradient."
    )
    reset: Literal["zero", "subtract", "none"] = Field(
        default="zero",
        description="What a spike does to the membrane before the next step: zero sets it to 0, "
        "subtract subtracts the threshold, none leaves it.",
    )
    reset_on: Literal["state", "emission"] = Field(
        default="state",
        description="Which neurons are reset where the capacity is too small. state: all above "
        "their threshold, even if their spike was dropped; emission: only those whose spike was "
        "sent, so that the others may spike in the next step.",
    )
    reset_gradient: Literal["mask", "term", "none"] = Field(
        default="mask",
        description="What the backward pass treats as constant. mask: the spike in the reset, but "
        "not the membrane; term: the whole reset; none: nothing.",
    )
    delay: DelaySteps = Field(
        default=0,
        description="Steps that a spike takes from layer to layer; `delay` of a layer is another "
        "number for the spikes to it.",
    )
    trainable: ListOf[TrainedConstant] = Field(
        default=(),
        max_length=len(TRAINED),
        description="Constants that are trained with the weights, one number per neuron.",
    )
    initial: InitialSpec | None = Field(
        default=None,
        description="Weights of a file to begin with; null: drawn, see initial_membrane_std.",
    )
    initial_membrane_std: float = Field(
        default=1.0,
        gt=0.0,
        le=100.0,
        description="Initial weights give each layer's membrane this standard deviation, in units "
        "of its threshold, at the spike rate measured in the layers before it.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields repeated or useless entries of trainable and resets that have no effect."""
        if not any(layer.trainable for layer in (*self.layers, self.readout)):
            detail = "no layer is left to train: leave out `trained: false` of one"
            yield Problem("/layers", "inconsistent", detail)
        for index, name in enumerate(self.trainable):
            if name in self.trainable[:index]:
                yield Problem(f"/trainable/{index}", "inconsistent", f"{name} is listed already")
        for index, layer in enumerate((*self.layers, self.readout)):
            decay = field_of(layer, "decay")
            decays = decay if isinstance(decay, tuple) else (decay,)
            if "decay" in self.trainable and 1.0 in decays:
                place = f"/layers/{index}" if index < len(self.layers) else "/readout"
                detail = "a decay of 1 cannot be trained: lower it, or do not train decays"
                yield Problem(f"{place}/decay", "inconsistent", detail)
        yield from _name_problems(self)
        yield from _residual_problems(self)
        yield from network_problems(self)
        yield from self._problems_of_ops()
        for row in _OPTIONAL:
            constant, layers = row.name, (*self.layers, self.readout)
            if constant in self.trainable and all(
                constant_of(layer, constant) is None for layer in layers
            ):
                yield Problem(
                    f"/trainable/{self.trainable.index(constant)}",
                    "inconsistent",
                    f"no layer has {_with_article(row.path[0])} to train: set one",
                )
        unbounded = all(first_capacity(layer) is None for layer in spiking_layers(self))
        if self.reset_on == "emission" and unbounded:
            detail = "has no effect where no layer has a capacity: set a capacity or remove it"
            yield Problem("/reset_on", "inconsistent", detail)
        for index, layer in enumerate(self.layers):
            if not isinstance(layer, ConvSpec) or layer.neuron is not None:
                continue
            if self.reset_on == "emission" and layer.capacity is not None:
                detail = "neurons of a convolution are reset on state: remove it or reset_on"
                yield Problem(f"/layers/{index}/capacity", "unsupported", detail)
        if self.reset == "none" and self.reset_gradient != "mask":
            detail = "has no effect without a reset: remove it"
            yield Problem("/reset_gradient", "inconsistent", detail)

    def _problems_of_ops(self) -> Iterator[Problem]:
        """Yields what a network with custom ops cannot have."""
        if not op_layers(self):
            return
        names = op_names(self)
        for index, layer in indexed_ops(self):
            if layer.op in names[MAX_OPS:]:
                detail = f"a network has at most {MAX_OPS} different custom ops"
                yield Problem(f"/layers/{index}/op", "out_of_range", detail)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _name_problems(network: NetworkSpec) -> Iterator[Problem]:
    """Yields names that another layer has, or that mean something else."""
    taken = {"input"}
    for index, layer in enumerate((*network.layers, network.readout)):
        hidden = len(network.layers)
        place = f"/layers/{index}" if index < hidden else "/readout"
        name = layer_name(index, hidden, layer.name)
        if name in taken or (name == "readout" and index < hidden):
            detail = f"{name} names another part of the network: choose another name"
            yield Problem(f"{place}/name", "inconsistent", detail)
        taken.add(name)


def _residual_problems(network: NetworkSpec) -> Iterator[Problem]:
    """Yields numbers of layers that are too late, listed twice, or of another width."""
    hidden = network.layers
    for index, layer in enumerate((*hidden, network.readout)):
        place = f"/layers/{index}" if index < len(hidden) else "/readout"
        numbers = field_of(layer, "residual")
        for at, number in enumerate(numbers):
            pointer = f"{place}/residual/{at}"
            if number >= index:
                first = "it has no such layers" if index < 2 else f"at most {index - 1}"
                detail = f"must be a hidden layer before the previous one: {first}; got {number}"
                yield Problem(pointer, "inconsistent", detail)
            elif number in numbers[:at]:
                yield Problem(pointer, "inconsistent", f"{number} is listed already")
            else:
                yield from _misfits(pointer, number, index, hidden)


def _misfits(
    pointer: str, number: int, previous: int, hidden: Sequence[HiddenLayer]
) -> Iterator[Problem]:
    """Yields what keeps the spikes of layer `number` from being added to those of `previous`."""
    first, last = hidden[number - 1], hidden[previous - 1]
    if isinstance(first, ConvSpec) or isinstance(last, ConvSpec):
        return  # their sizes depend on the data
    if first.neurons != last.neurons:
        sender, receiver = (
            layer_name(at - 1, len(hidden), hidden[at - 1].name) for at in (number, previous)
        )
        detail = (
            f"{sender} has {first.neurons:,} neurons and {receiver} has "
            f"{last.neurons:,}: spikes are added neuron by neuron"
        )
        yield Problem(pointer, "inconsistent", detail)
