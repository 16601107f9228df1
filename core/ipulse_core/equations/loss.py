"""A loss or penalty as equations: one number for each sample, from the network and what is right.

Values have axes (`axes.py`): the membrane has a value for each class in each step, a label one for
each class, and the loss none of them. `layers[0].membrane` and `layers[0].spikes` have a value for
each neuron of a layer in each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

from ipulse_core.equations.axes import (
    AXIS_FUNCTIONS,
    CLASSES,
    OF_BOTH,
    OF_CLASSES,
    OF_TIME,
    SINGLE,
    Axes,
    axes_of,
    units,
    wrong_axes,
)
from ipulse_core.equations.neuron import InvalidEquations, size_problems
from ipulse_core.equations.parser import FUNCTIONS, parse
from ipulse_core.equations.tokens import ExpressionError, tokens_of
from ipulse_core.equations.tree import (
    Constant,
    Expression,
    Operation,
    Variable,
    operations,
    variables,
)
from ipulse_core.errors import Problem

MAX_VALUES = 8
LOSS_FUNCTIONS = (*FUNCTIONS, *AXIS_FUNCTIONS)

MEMBRANE, SPIKE_COUNT, FIRST_SPIKE = "membrane", "spike_count", "first_spike"
LABEL, TARGET, STEP_TARGET = "label", "target", "step_target"
CLASS_COUNT, STEP_COUNT, STEP = "classes", "steps", "t"
SPIKES = "spikes"
OF_LAYERS = (MEMBRANE, SPIKES)  # what is read of a layer, behind its name and a dot
READOUTS = (MEMBRANE, SPIKE_COUNT, FIRST_SPIKE)
RIGHT = (LABEL, TARGET, STEP_TARGET)  # what the readout is compared with
NAMES: Dict[str, Axes] = {
    MEMBRANE: OF_BOTH,
    **dict.fromkeys((SPIKE_COUNT, FIRST_SPIKE, LABEL, TARGET), OF_CLASSES),
    STEP_TARGET: OF_BOTH,
    **dict.fromkeys((CLASS_COUNT, STEP_COUNT), SINGLE),
    STEP: OF_TIME,
}
_PREDICTIONS = {
    MEMBRANE: "mean_over_time(membrane)",
    SPIKE_COUNT: "spike_count",
    FIRST_SPIKE: "-first_spike",
}


class LayerValue(NamedTuple):
    """The membrane or the spikes of a layer, as equations may read them.

    Attributes:
        layer: The layer's index, the readout last.
        what: One of OF_LAYERS.
        axes: Its axes.
        key: Its name, the same whichever name of the layer an equation has.
        is_readout: Whether the layer is the readout.
        missing: Why the layer does not have it; None if it has.
    """

    layer: int
    what: str
    axes: Axes
    key: str
    is_readout: bool = False
    missing: Optional[str] = None


@dataclass(frozen=True)
class LossEquations:
    """A loss or penalty as trees.

    Attributes:
        name: For people.
        parameters: Constants by name.
        values: Values by name, each of which may read those before it.
        loss: One number for each sample.
        prediction: A value for each class, of which the largest is predicted; in a regression what
            is compared with the targets. 0 of a penalty.
        reads: The names of NAMES that are read.
        layers: What is read of layers, by the names in the trees.
    """

    name: str
    parameters: Tuple[Tuple[str, float], ...]
    values: Tuple[Tuple[str, Expression], ...]
    loss: Expression
    prediction: Expression
    reads: FrozenSet[str]
    layers: Tuple[Tuple[str, LayerValue], ...] = ()


def result_of(described: Any) -> Tuple[str, str]:
    """Returns name and text of what the equations of a spec are for: its loss or penalty."""
    name = "penalty" if hasattr(described, "penalty") else "loss"
    return name, getattr(described, name)


def equation_texts(described: Any) -> List[str]:
    """Returns the texts of a loss or penalty that a spec describes."""
    texts = [each.value for each in described.values]
    texts.append(result_of(described)[1])
    prediction = getattr(described, "prediction", None)
    return texts if prediction is None else [*texts, prediction]


def layer_names_in(texts: Iterable[str]) -> List[Tuple[str, str]]:
    """Returns what equations read of layers: names of layers, and one of OF_LAYERS or another."""
    pairs = sorted(name.rpartition(".") for name in names_in(texts) if "." in name)
    return [(layer, what) for layer, _, what in pairs]


def names_in(texts: Iterable[str]) -> Set[str]:
    """Returns the names in equations; of those that are wrong, none."""
    found: Set[str] = set()
    for text in texts:
        try:
            found.update(token.text for token in tokens_of(text) if token.kind == "name")
        except ExpressionError:
            continue
    return found


def default_prediction(reads: Iterable[str], layers: Mapping[str, LayerValue]) -> str:
    """Returns the prediction of a loss that names none, and reads something of the readout.

    Args:
        reads: The names of NAMES that it reads.
        layers: What it reads of layers, by the names in its equations.
    """
    known = [name for name in READOUTS if name in reads]
    if not known:
        own = [(value.what, name) for name, value in layers.items() if value.is_readout]
        what, name = min(own)  # the membrane, if it reads both
        if STEP_TARGET in reads:
            return name
        return f"mean_over_time({name})" if what == MEMBRANE else f"sum_over_time({name})"
    return MEMBRANE if STEP_TARGET in reads else _PREDICTIONS[known[0]]


def read_loss(
    described: Any,
    layers: Optional[Mapping[str, LayerValue]] = None,
    right: Optional[str] = None,
) -> LossEquations:
    """Returns the loss or penalty that a spec describes.

    Args:
        described: `loss` of a training or one of its regularisers: a model of `ipulse.spec`, or the
            document that the runner reads.
        layers: What the equations may read of layers, by name, `layers[0].spikes` for example.
        right: What the loss compares with, a name of RIGHT, for a penalty; None: any of them.

    Raises:
        InvalidEquations: With every problem; pointers begin at the loss.
    """
    reader = _Reader(described, layers or {}, right)
    found = reader.read()
    if reader.problems:
        raise InvalidEquations(reader.problems)
    return found


class _Reader:
    """Reads the parts of a loss or penalty, and collects what is wrong."""

    def __init__(
        self, described: Any, layers: Mapping[str, LayerValue], right: Optional[str]
    ) -> None:
        self.problems: List[Problem] = []
        self._described, self._layers, self._right = described, layers, right
        self._result, self._text = result_of(described)
        self._axes: Dict[str, Axes] = dict(NAMES)
        self._axes.update((name, value.axes) for name, value in layers.items())
        self._own: Dict[str, str] = {}  # pointers by name
        self._used: Set[str] = set()
        self._operations = 0

    def read(self) -> LossEquations:
        described = self._described
        for at, each in enumerate(described.parameters):
            self._add_name(f"/parameters/{at}", each.name, SINGLE)
        values = []
        for at, each in enumerate(described.values):
            tree = self._tree(f"/values/{at}/value", each.value)
            values.append((each.name, tree))
            self._add_name(f"/values/{at}", each.name, axes_of(tree, self._axes))
        loss = self._tree(f"/{self._result}", self._text)
        reads = frozenset(self._used & set(NAMES))
        prediction = self._prediction(reads)
        reads |= self._used & set(NAMES)
        if not self.problems:
            size = sum(map(len, equation_texts(described)))
            self.problems.extend(size_problems(size, self._operations))
            self._check_reads(reads)
        if not self.problems:
            self._check_axes(loss, prediction, reads)
        return LossEquations(
            name=described.name,
            parameters=tuple((each.name, float(each.value)) for each in described.parameters),
            values=tuple(values),
            loss=loss,
            prediction=prediction,
            reads=reads,
            layers=tuple(self._layers_read().items()),
        )

    def _layers_read(self) -> Dict[str, LayerValue]:
        return {name: value for name, value in self._layers.items() if name in self._used}

    def _report(self, pointer: str, code: str, detail: str) -> None:
        self.problems.append(Problem(pointer, code, detail))

    def _add_name(self, pointer: str, name: str, axes: Axes) -> None:
        if name in NAMES or name in LOSS_FUNCTIONS:
            detail = f"{name} has a meaning in equations: choose another name"
            self._report(f"{pointer}/name", "inconsistent", detail)
            return
        if name in self._own:
            detail = f"{name} is the name of another parameter or value: names differ"
            self._report(f"{pointer}/name", "inconsistent", detail)
        self._axes[name], self._own[name] = axes, f"{pointer}/name"

    def _tree(self, pointer: str, text: str) -> Expression:
        def misuse(operation: Operation) -> Any:
            return wrong_axes(operation, self._axes)

        try:
            tree = parse(text, tuple(self._axes), (), LOSS_FUNCTIONS, misuse)
        except ExpressionError as error:
            self._report(pointer, "wrong_expression", str(error))
            return Variable(MEMBRANE)
        for name in dict.fromkeys(variables(tree)):
            value = self._layers.get(name)
            if value is not None and value.missing is not None and name not in self._used:
                self._report(pointer, "wrong_expression", f"{name}: {value.missing}")
        self._used.update(variables(tree))
        self._operations += operations(tree)
        return tree

    @property
    def _is_penalty(self) -> bool:
        return self._result == "penalty"

    def _prediction(self, reads: FrozenSet[str]) -> Expression:
        if self._is_penalty:
            return Constant(0.0)
        text = self._described.prediction
        if text is None:
            if not self._reads_readout(reads):  # which is reported
                return Variable(MEMBRANE)
            text = default_prediction(reads, self._layers_read())
        return self._tree("/prediction", text)

    def _reads_readout(self, reads: FrozenSet[str]) -> bool:
        of_layers = self._layers_read().values()
        return not reads.isdisjoint(READOUTS) or any(value.is_readout for value in of_layers)

    def _check_reads(self, reads: FrozenSet[str]) -> None:
        """Reports names that do not go together, are missing, or are not used."""
        readouts = [name for name in READOUTS if name in reads]
        right = [name for name in RIGHT if name in reads]
        details = []
        if self._is_penalty and not self._reads_readout(reads) and not self._layers_read():
            details.append(
                "nothing of a layer is in an equation: use layers[0].membrane or layers[0].spikes"
            )
        if not self._is_penalty and not self._reads_readout(reads):
            details.append(f"nothing of the readout is in an equation: use {' or '.join(READOUTS)}")
        if MEMBRANE in readouts and len(readouts) > 1:
            details.append(
                f"{MEMBRANE} is of a leaky readout, {readouts[1]} of a spiking one: use one"
            )
        if not right and not self._is_penalty:
            details.append(
                f"what is right is in no equation: use {LABEL}, or {TARGET} in a regression"
            )
        if len(right) > 1:
            details.append(f"{' and '.join(right)} are of different kinds of data: use one")
        elif right and self._right not in (None, right[0]):
            details.append(f"the loss compares with {self._right}: use it in place of {right[0]}")
        if not {SPIKE_COUNT, FIRST_SPIKE}.isdisjoint(readouts) and right and right[0] != LABEL:
            details.append(f"{right[0]} is compared with the {MEMBRANE} of a leaky readout")
        for detail in details:
            self._report(f"/{self._result}", "inconsistent", detail)
        for name, pointer in self._own.items():
            if name not in self._used:
                self._report(pointer, "inconsistent", f"{name} is in no equation: remove it")

    def _check_axes(self, loss: Expression, prediction: Expression, reads: FrozenSet[str]) -> None:
        found = axes_of(loss, self._axes)
        if found:
            axis = units(found)
            each = "time step" if axis is None else "class" if axis == CLASSES else "neuron"
            function = "mean_over_time(...)" if axis is None else "sum(...)"
            what = f"the {self._result} is one number, and this is one for each {each}"
            detail = f"{what}: use {function}"
            self._report(f"/{self._result}", "inconsistent", detail)
        if self._is_penalty:
            return
        wanted = OF_BOTH if STEP_TARGET in reads else OF_CLASSES
        if axes_of(prediction, self._axes) != wanted:
            in_steps = " in each step" if STEP_TARGET in reads else ""
            detail = f"must have one value for each class{in_steps}, and no other axis"
            self._report("/prediction", "inconsistent", detail)
