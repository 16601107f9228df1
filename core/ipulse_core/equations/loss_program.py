"""A loss and its derivative as a list of instructions.

Values are arrays `[time, batch, classes]`, or with neurons in place of classes, of length 1 along
axes that they have not. Besides the operations of tree.ARITIES there are `spread`, `spread_to_128`
and `spread_over_time`, which repeat a value for each class, each of 128 neurons or each step, and
`at_last`, which is 0 but in the last step.
"""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Sequence, Tuple

from ipulse_core.equations.adjoint import Terms, elementwise_terms, gradients
from ipulse_core.equations.axes import (
    CLASSES,
    OF_BOTH,
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
    MEMBRANE,
    NAMES,
    READOUTS,
    SPIKE_COUNT,
    SPIKES,
    STEP_COUNT,
    LossEquations,
)
from ipulse_core.equations.step_program import Instruction, ProgramBuilder, StepProgram

LOSS, PREDICTION, PENALTY = "loss", "prediction", "penalty"  # outputs
READOUT_MEMBRANE, READOUT_SPIKES = f"readout.{MEMBRANE}", f"readout.{SPIKES}"  # as LayerValue.key
_SUMS = {TIME: "sum_over_time", CLASSES: "sum"}
_ADDED = {"spread": CLASSES, "spread_over_time": TIME, "at_last": TIME}
SPREAD_TO = "spread_to_"  # followed by a number of neurons


def spread_to(neurons: int) -> str:
    """Returns the name of the operation that repeats a value for each neuron."""
    return f"{SPREAD_TO}{neurons}"


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
    result, prediction = builder.add_loss(loss, names)
    grads = gradients(
        builder, len(builder.instructions), [(result, builder.constant(1.0))], builder.terms
    )
    zero = builder.constant(0.0)
    outputs = {LOSS: result, PREDICTION: prediction}
    for name in READOUTS:
        if name in loss.reads:
            outputs[by_readout(name)] = grads.get(names[name], zero)
    for key in of_layers:
        outputs[by_readout(key)] = grads.get(builder.input(key), zero)
    return builder.program(outputs)


def training_program(
    loss: LossEquations, penalties: Sequence[Tuple[float, LossEquations]]
) -> StepProgram:
    """Returns the loss, the sum of the penalties, and the gradients of both by what they read.

    The readout is read as a layer: its membrane is READOUT_MEMBRANE, and the spike counts are sums
    of READOUT_SPIKES.

    Args:
        loss: Without times of first spikes.
        penalties: Each with the factor that it has in the sum.
    """
    each = [loss, *(penalty for _, penalty in penalties)]
    of_layers = {value.key: value.axes for one in each for _, value in one.layers}
    of_readout = {READOUT_MEMBRANE: OF_BOTH, READOUT_SPIKES: OF_BOTH}
    builder = _LossBuilder({**NAMES, **of_layers, **of_readout})
    names = {name: builder.input(name) for name in NAMES}
    names[MEMBRANE] = builder.input(READOUT_MEMBRANE)
    names[SPIKE_COUNT] = builder.apply("sum_over_time", builder.input(READOUT_SPIKES))
    result, _ = builder.add_loss(loss, names)
    seeds = [(result, builder.constant(1.0))]
    total = builder.constant(0.0)
    for at, (strength, penalty) in enumerate(penalties):
        factor = builder.constant(strength)
        value, _ = builder.add_loss(penalty, names)
        weighted = builder.apply("multiply", factor, value)
        total = builder.apply("add", total, weighted) if at else weighted
        seeds.append((value, factor))
    grads = gradients(builder, len(builder.instructions), seeds, builder.terms)
    outputs = {LOSS: result, PENALTY: total}
    for key in (*of_layers, *of_readout):
        if builder.input(key) in grads:
            outputs[by_readout(key)] = grads[builder.input(key)]
    return builder.program(outputs)


class LayerRead(NamedTuple):
    """The membrane or the spikes of a layer, as an input of a `training_program`.

    Attributes:
        what: `membrane` or `spikes`.
        layer: The layer's number, the readout last.
        key: The name of the program's input.
        axes: Its axes.
    """

    what: str
    layer: int
    key: str
    axes: Axes


def layers_read(
    loss: LossEquations,
    penalties: Sequence[Tuple[float, LossEquations]],
    program: StepProgram,
    readout: int,
) -> Tuple[LayerRead, ...]:
    """Returns what the `training_program` of a loss reads of layers.

    Args:
        loss: As for `training_program`.
        penalties: Likewise.
        program: The result.
        readout: The number of the readout, which is the number of hidden layers.
    """
    known = {
        READOUT_MEMBRANE: LayerRead(MEMBRANE, readout, READOUT_MEMBRANE, OF_BOTH),
        READOUT_SPIKES: LayerRead(SPIKES, readout, READOUT_SPIKES, OF_BOTH),
    }
    for each in (loss, *(penalty for _, penalty in penalties)):
        for _, value in each.layers:
            known[value.key] = LayerRead(value.what, value.layer, value.key, value.axes)
    used = {each.name for each in program.instructions if each.operation == "input"}
    return tuple(each for each in known.values() if each.key in used)


def program_axes(instructions: Sequence[Instruction], of_layers: Mapping[str, Axes]) -> List[Axes]:
    """Returns the axes of each instruction's value; `of_layers` has those of layers by key."""
    found: List[Axes] = []
    _add_axes(found, instructions, {**NAMES, **of_layers})
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

    def add_loss(self, loss: LossEquations, names: Mapping[str, int]) -> Tuple[int, int]:
        """Returns the numbers of a loss and of its prediction; `names` has those of NAMES."""
        known = dict(names)
        known.update((name, self.input(value.key)) for name, value in loss.layers)
        known.update((name, self.constant(value)) for name, value in loss.parameters)
        for name, tree in loss.values:
            known[name] = self.add(tree, known)
        result = self.add(loss.loss, known)
        return result, self.add(loss.prediction, known)

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
    if operation.startswith(SPREAD_TO):
        return frozenset({neurons_axis(int(operation[len(SPREAD_TO) :]))})
    return frozenset({_ADDED[operation]} if operation in _ADDED else ())
