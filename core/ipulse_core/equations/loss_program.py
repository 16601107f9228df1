"""A loss and its derivative as a list of instructions.

Values are arrays `[time, batch, classes]`, or with neurons in place of classes, of length 1 along
axes that they have not. Besides the operations of tree.ARITIES there are `spread`, `spread_to_128`
and `spread_over_time`, which repeat a value for each class, each of 128 neurons or each step, and
`at_last`, which is 0 but in the last step.
"""

from __future__ import annotations

from typing import List, Mapping, Sequence

from ipulse_core.equations.adjoint import Terms, elementwise_terms, gradients
from ipulse_core.equations.axes import (
    CLASSES,
    REDUCTIONS,
    SINGLE,
    TIME,
    Axes,
    neurons_axis,
    neurons_of,
    reduced,
    units,
)
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
_ADDED = {"spread": CLASSES, "spread_over_time": TIME, "at_last": TIME}
_SPREAD_TO = "spread_to_"  # followed by a number of neurons


def spread_to(neurons: int) -> str:
    """Returns the name of the operation that repeats a value for each neuron."""
    return f"{_SPREAD_TO}{neurons}"


def by_readout(name: str) -> str:
    """Returns the name of an output: the gradient of what is read of the readout or a layer."""
    return f"by {name}"


def loss_program(loss: LossEquations) -> StepProgram:
    """Returns the loss, the prediction, and the loss's gradients of what it reads of the network.

    The inputs are the names that the loss reads, the keys of layers in place of their names, and
    the numbers of classes and steps.
    """
    of_layers = {value.key: value.axes for _, value in loss.layers}
    builder = _LossBuilder({**NAMES, **of_layers})
    names = {name: builder.input(name) for name in NAMES}
    names.update((name, builder.input(value.key)) for name, value in loss.layers)
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
    for key in of_layers:
        outputs[by_readout(key)] = grads.get(builder.input(key), zero)
    return builder.program(outputs)


def program_axes(instructions: Sequence[Instruction]) -> List[Axes]:
    """Returns the axes of each instruction's value."""
    found: List[Axes] = []
    _add_axes(found, instructions, NAMES)
    return found


def _add_axes(
    known: List[Axes], instructions: Sequence[Instruction], names: Mapping[str, Axes]
) -> None:
    """Appends the axes of the instructions after those that are known."""
    for operation, arguments, _, name in instructions[len(known) :]:
        if operation == "input":
            found = names[name]
        else:
            found = SINGLE.union(*(known[argument] for argument in arguments))
            found = reduced(operation, found) | _added(operation)
        known.append(found)


class _LossBuilder(ProgramBuilder):
    """Knows the axes of instructions, and the functions that consist of others."""

    def __init__(self, names: Mapping[str, Axes]) -> None:
        super().__init__()
        self._names = names
        self._axes: List[Axes] = []

    def apply(self, operation: str, *arguments: int) -> int:
        """Returns the number of an operation."""
        value = arguments[0]
        if operation in ("mean", "mean_over_time"):
            is_over_time = operation == "mean_over_time"
            total = self.apply("sum_over_time" if is_over_time else "sum", value)
            counted = TIME if is_over_time else units(self.axes(value))
            return self.apply("divide", total, self._count(counted or CLASSES))
        if operation == "log_softmax":
            return self.apply("subtract", value, self.apply("logsumexp", value))
        if operation == "softmax":
            return self.apply("exp", self.apply("log_softmax", value))
        return super().apply(operation, *arguments)

    def axes(self, number: int) -> Axes:
        """Returns the axes of an instruction's value."""
        _add_axes(self._axes, self.instructions[: number + 1], self._names)
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
        found = self.axes(term)
        if TIME in found - wanted:
            term = self.apply(_SUMS[TIME], term)
        if TIME in wanted - found:
            term = self.apply("spread_over_time", term)
        before, after = units(found), units(wanted)
        if before is not None and before != after:
            term = self.apply(_SUMS[CLASSES], term)
        if after is not None and before != after:
            term = self.apply("spread" if after == CLASSES else spread_to(neurons_of(after)), term)
        return term

    def _count(self, axis: str) -> int:
        """Returns the number of steps, classes or neurons."""
        if axis in (TIME, CLASSES):
            return self.input(STEP_COUNT if axis == TIME else CLASS_COUNT)
        return self.constant(float(neurons_of(axis)))


def _added(operation: str) -> Axes:
    if operation.startswith(_SPREAD_TO):
        return frozenset({neurons_axis(int(operation[len(_SPREAD_TO) :]))})
    return frozenset({_ADDED[operation]} if operation in _ADDED else ())
