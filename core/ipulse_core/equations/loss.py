"""A loss as equations: one number for each sample, from the readout and what is right.

Values have axes (`axes.py`): the membrane has a value for each class in each step, a label one for
each class, and the loss none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, List, Set, Tuple

from ipulse_core.equations.axes import (
    AXIS_FUNCTIONS,
    CLASSES,
    OF_BOTH,
    OF_CLASSES,
    OF_TIME,
    SINGLE,
    Axes,
    axes_of,
    missing_axis,
)
from ipulse_core.equations.neuron import InvalidEquations, size_problems
from ipulse_core.equations.parser import FUNCTIONS, parse
from ipulse_core.equations.tokens import ExpressionError, tokens_of
from ipulse_core.equations.tree import Expression, Operation, Variable, operations, variables
from ipulse_core.errors import Problem

MAX_VALUES = 8
LOSS_FUNCTIONS = (*FUNCTIONS, *AXIS_FUNCTIONS)

MEMBRANE, SPIKE_COUNT, FIRST_SPIKE = "membrane", "spike_count", "first_spike"
LABEL, TARGET, STEP_TARGET = "label", "target", "step_target"
CLASS_COUNT, STEP_COUNT, STEP = "classes", "steps", "t"
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


@dataclass(frozen=True)
class LossEquations:
    """A loss as trees.

    Attributes:
        name: For people.
        parameters: Constants by name.
        values: Values by name, each of which may read those before it.
        loss: One number for each sample.
        prediction: A value for each class, of which the largest is predicted; in a regression what
            is compared with the targets.
        reads: The names of NAMES that are read.
    """

    name: str
    parameters: Tuple[Tuple[str, float], ...]
    values: Tuple[Tuple[str, Expression], ...]
    loss: Expression
    prediction: Expression
    reads: FrozenSet[str]


def equation_texts(described: Any) -> List[str]:
    """Returns the texts of a loss that a spec describes."""
    texts = [each.value for each in described.values]
    texts.append(described.loss)
    return texts if described.prediction is None else [*texts, described.prediction]


def names_in(texts: Iterable[str]) -> Set[str]:
    """Returns the names in equations; of those that are wrong, none."""
    found: Set[str] = set()
    for text in texts:
        try:
            found.update(token.text for token in tokens_of(text) if token.kind == "name")
        except ExpressionError:
            continue
    return found


def default_prediction(reads: Iterable[str]) -> str:
    """Returns the prediction of a loss that names none, and reads one of READOUTS at least."""
    if STEP_TARGET in reads:
        return MEMBRANE
    return next(_PREDICTIONS[name] for name in READOUTS if name in reads)


def read_loss(described: Any) -> LossEquations:
    """Returns the loss that a spec describes.

    Args:
        described: `loss` of a training: a model of `ipulse.spec`, or the document that the runner
            reads.

    Raises:
        InvalidEquations: With every problem; pointers begin at the loss.
    """
    reader = _Reader(described)
    found = reader.read()
    if reader.problems:
        raise InvalidEquations(reader.problems)
    return found


class _Reader:
    """Reads the parts of a loss, and collects what is wrong."""

    def __init__(self, described: Any) -> None:
        self.problems: List[Problem] = []
        self._described = described
        self._axes: Dict[str, Axes] = dict(NAMES)
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
        loss = self._tree("/loss", described.loss)
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
        )

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
            return missing_axis(operation, self._axes)

        try:
            tree = parse(text, tuple(self._axes), (), LOSS_FUNCTIONS, misuse)
        except ExpressionError as error:
            self._report(pointer, "wrong_expression", str(error))
            return Variable(MEMBRANE)
        self._used.update(variables(tree))
        self._operations += operations(tree)
        return tree

    def _prediction(self, reads: FrozenSet[str]) -> Expression:
        text = self._described.prediction
        if text is None and reads.isdisjoint(READOUTS):  # which is reported
            return Variable(MEMBRANE)
        return self._tree("/prediction", default_prediction(reads) if text is None else text)

    def _check_reads(self, reads: FrozenSet[str]) -> None:
        """Reports names that do not go together, are missing, or are not used."""
        readouts = [name for name in READOUTS if name in reads]
        right = [name for name in RIGHT if name in reads]
        if not readouts:
            detail = f"nothing of the readout is in an equation: use {' or '.join(READOUTS)}"
            self._report("/loss", "inconsistent", detail)
        if MEMBRANE in readouts and len(readouts) > 1:
            detail = f"{MEMBRANE} is of a leaky readout, {readouts[1]} of a spiking one: use one"
            self._report("/loss", "inconsistent", detail)
        if not right:
            detail = f"what is right is in no equation: use {LABEL}, or {TARGET} in a regression"
            self._report("/loss", "inconsistent", detail)
        if len(right) > 1:
            detail = f"{' and '.join(right)} are of different kinds of data: use one"
            self._report("/loss", "inconsistent", detail)
        if MEMBRANE not in readouts and right and right[0] != LABEL:
            detail = f"{right[0]} is compared with the {MEMBRANE} of a leaky readout"
            self._report("/loss", "inconsistent", detail)
        for name, pointer in self._own.items():
            if name not in self._used:
                self._report(pointer, "inconsistent", f"{name} is in no equation: remove it")

    def _check_axes(self, loss: Expression, prediction: Expression, reads: FrozenSet[str]) -> None:
        found = axes_of(loss, self._axes)
        if found:
            each = "class" if CLASSES in found else "time step"
            function = "sum(...)" if CLASSES in found else "mean_over_time(...)"
            detail = f"the loss is one number, and this is one for each {each}: use {function}"
            self._report("/loss", "inconsistent", detail)
        wanted = OF_BOTH if STEP_TARGET in reads else OF_CLASSES
        if axes_of(prediction, self._axes) != wanted:
            in_steps = " in each step" if STEP_TARGET in reads else ""
            detail = f"must have one value for each class{in_steps}, and no other axis"
            self._report("/prediction", "inconsistent", detail)
