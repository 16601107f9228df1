"""A loss and its derivative as a list of instructions.

Values are arrays `[time, batch, classes]`, of length 1 along axes that they have not. Besides the
operations of tree.ARITIES there are `spread` and `spread_over_time`, which repeat a value for each
class or step, and `at_last`, which is 0 but in the last step.
"""

from __future__ import annotations

from typing import List, Sequence

from ipulse_core.equations.adjoint import Terms, elementwise_terms, gradients
from ipulse_core.equations.axes import CLASSES, REDUCTIONS, SINGLE, TIME, Axes
from ipulse_core.equations.loss import (
    CLASS_COUNT,
    NAMES,
    READOUTS,
    STEP_COUNT,
    LossEquations,
)
from ipulse_core.equations.step_program import Instruction, ProgramBuilder, StepProgram

LOSS, PREDICTION = "loss", "prediction"  # outputs
_SUMS = {TIME: "sum_over_time", CLASSES: "sum"}
_SPREADS = {TIME: "spread_over_time", CLASSES: "spread"}
_ADDED = {"spread": CLASSES, "spread_over_time": TIME, "at_last": TIME}


def by_readout(name: str) -> str:
    """Returns the name of an output: the gradient of what is read of the readout."""
    return f"by {name}"


def loss_program(loss: LossEquations) -> StepProgram:
    """Returns the loss, the prediction, and the loss's gradients of what it reads of the readout.

    The inputs are the names that the loss reads, and the numbers of classes and steps.
    """
    builder = _LossBuilder()
    names = {name: builder.input(name) for name in NAMES}
    names.update((name, builder.constant(value)) for name, value in loss.parameters)
    for name, tree in loss.values:
        names[name] = builder.add(tree, names)
    result = builder.add(loss.loss, names)
    outputs = {LOSS: result, PREDICTION: builder.add(loss.prediction, names)}
    last = len(builder.instructions)
    seeds = [(result, builder.constant(1.0))]
    grads = gradients(builder, last, seeds, builder.terms)
    zero = builder.constant(0.0)
    for name in READOUTS:
        if name in loss.reads:
            outputs[by_readout(name)] = grads.get(names[name], zero)
    return builder.program(outputs)


def program_axes(instructions: Sequence[Instruction]) -> List[Axes]:
    """Returns the axes of each instruction's value."""
    found: List[Axes] = []
    _add_axes(found, instructions)
    return found


def _add_axes(known: List[Axes], instructions: Sequence[Instruction]) -> None:
    """Appends the axes of the instructions after those that are known."""
    for operation, arguments, _, name in instructions[len(known) :]:
        if operation == "input":
            found = NAMES[name]
        else:
            found = SINGLE.union(*(known[argument] for argument in arguments))
            found = (found - {REDUCTIONS.get(operation, "")}) | _added(operation)
        known.append(found)


class _LossBuilder(ProgramBuilder):
    """Knows the axes of instructions, and the functions that consist of others."""

    def __init__(self) -> None:
        super().__init__()
        self._axes: List[Axes] = []

    def apply(self, operation: str, *arguments: int) -> int:
        """Returns the number of an operation."""
        value = arguments[0]
        if operation in ("mean", "mean_over_time"):
            is_over_time = operation == "mean_over_time"
            total = self.apply("sum_over_time" if is_over_time else "sum", value)
            count = self.input(STEP_COUNT if is_over_time else CLASS_COUNT)
            return self.apply("divide", total, count)
        if operation == "log_softmax":
            return self.apply("subtract", value, self.apply("logsumexp", value))
        if operation == "softmax":
            return self.apply("exp", self.apply("log_softmax", value))
        return super().apply(operation, *arguments)

    def axes(self, number: int) -> Axes:
        """Returns the axes of an instruction's value."""
        _add_axes(self._axes, self.instructions[: number + 1])
        return self._axes[number]

    def terms(self, number: int, grad: int) -> Terms:
        """Returns what an instruction's gradient adds to those of its arguments, in their axes."""
        operation, arguments, _, _ = self.instructions[number]
        if operation in REDUCTIONS:
            terms = self._terms(operation, arguments[0], number, grad)
        else:
            terms = elementwise_terms(self, number, grad)
        return [(argument, self._fitted(term, self.axes(argument))) for argument, term in terms]

    def _terms(self, operation: str, value: int, result: int, grad: int) -> Terms:
        if operation in _SUMS.values():
            return [(value, grad)]
        if operation == "last":
            return [(value, self.apply("at_last", grad))]
        if operation == "logsumexp":
            share = self.apply("exp", self.apply("subtract", value, result))
            return [(value, self.apply("multiply", grad, share))]
        if operation in ("largest", "max_over_time"):  # equal ones share the gradient
            hits = self.apply("equal", value, result)
            total = self.apply(_SUMS[REDUCTIONS[operation]], hits)
            return [(value, self.apply("divide", self.apply("multiply", grad, hits), total))]
        return []

    def _fitted(self, term: int, wanted: Axes) -> int:
        """Returns a gradient summed over axes that are not wanted, and repeated along the rest."""
        for axis in (TIME, CLASSES):
            found = self.axes(term)
            if axis in found - wanted:
                term = self.apply(_SUMS[axis], term)
            if axis in wanted - found:
                term = self.apply(_SPREADS[axis], term)
        return term


def _added(operation: str) -> Axes:
    return frozenset({_ADDED[operation]} if operation in _ADDED else ())
