"""Prints the vertex of a loss with equations for the tiles of an IPU.

A vertex computes the loss of one sample. Values that each class has, or each step, are rows of its
memory; values that each class has in each step are computed where they are used, so that memory
does not grow with the number of operations. Nothing that a user wrote is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ipulse_core.equations.axes import (
    CLASSES,
    REDUCTIONS,
    SINGLE,
    TIME,
    neurons_of,
    units,
)
from ipulse_core.equations.loss import (
    CLASS_COUNT,
    LABEL,
    MEMBRANE,
    RIGHT,
    SPIKES,
    STEP,
    STEP_COUNT,
    STEP_TARGET,
    TARGET,
    LossEquations,
)
from ipulse_core.equations.loss_program import (
    LOSS,
    PENALTY,
    SPREAD_TO,
    LayerRead,
    by_readout,
    layers_read,
    program_axes,
    training_program,
)
from ipulse_ops.equations.source import expression, literal

_TEMPLATE = Path(__file__).resolve().parent / "poplar" / "loss.cpp"
_INPUTS = {
    LABEL: "right[0] == static_cast<int>(c) ? 1.0f : 0.0f",
    TARGET: "right[c]",
    STEP_TARGET: "right[t * classes + c]",
    CLASS_COUNT: "static_cast<float>(classes)",
    STEP_COUNT: "static_cast<float>(steps)",
    STEP: "static_cast<float>(t)",
}
# Operations that only choose or repeat a value: they are printed where the value is used.
_COPIES = {
    "spread": "v{0}",
    "spread_over_time": "v{0}",
    "at_last": "t + 1 == steps ? v{0} : 0.0f",
}
_SPREAD = "v{0}"  # to neurons, however many
_ROWS = {CLASSES: "classRows[{0} * classes + c]", TIME: "stepRows[{0} * steps + t]"}
_NEURON_ROW = "neuronRows[{0} + c]"
# The fields of the vertex for the membrane or the spikes of a layer; {0} is their number.
_FIELDS = {
    MEMBRANE: (
        "poplar::Input<poplar::Vector<float>> membranes{0};  // [steps][neurons]",
        "poplar::Output<poplar::Vector<float>> gradient{0};  // of the same shape",
    ),
    SPIKES: (
        "poplar::Input<poplar::Vector<float>> ids{0};     // [steps][slots]",
        "poplar::Input<poplar::Vector<float>> counts{0};  // [steps][2], spikes and filled slots",
        "poplar::Output<poplar::Vector<unsigned char>> trains{0};  // [steps][neurons]",
        "poplar::Output<poplar::Vector<float>> gradient{0};  // [steps][slots]",
    ),
}
# How a reduction combines its result so far with the next value; it begins with the first one.
_COMBINED = {
    "sum": "{0} + {1}",
    "largest": "{1} > {0} || {1} != {1} ? {1} : {0}",
}
_COMBINED.update(sum_over_time=_COMBINED["sum"], max_over_time=_COMBINED["largest"])
_INDENT = "  "


class LossVertex(NamedTuple):
    """The vertex of a loss.

    Attributes:
        codelet: Its C++.
        class_rows: How many rows of one number per class it has, at least one.
        step_rows: How many rows of one number per step it has, at least one.
        neuron_values: How many numbers its rows of one per neuron have, at least one.
        right: What the readout is compared with, a name of RIGHT.
        reads: What it reads of layers: `membrane` or `spikes`, and the layer's number.
    """

    codelet: str
    class_rows: int
    step_rows: int
    neuron_values: int
    right: str
    reads: Tuple[Tuple[str, int], ...]


def loss_vertex(
    loss: LossEquations,
    penalties: Sequence[Tuple[float, LossEquations]] = (),
    readout: int = 0,
) -> LossVertex:
    """Return the vertex of a loss with penalties.

    loss, penalties: as for `training_program`.
    readout: the number of the readout, which is the number of hidden layers.
    """
    (right,) = (name for name in RIGHT if name in loss.reads)
    printer = _Printer(loss, penalties, readout)
    text = _TEMPLATE.read_text("utf-8").replace("    /*LOSS*/", "\n".join(printer.lines()))
    text = text.replace("  /*FIELDS*/", "\n".join(printer.fields()))
    return LossVertex(
        codelet=text.replace("/*RIGHT*/", "int" if right == LABEL else "float"),
        class_rows=max(1, printer.rows[CLASSES]),
        step_rows=max(1, printer.rows[TIME]),
        neuron_values=max(1, printer.neuron_values),
        right=right,
        reads=tuple((each.what, each.layer) for each in printer.reads),
    )


class _Printer:
    """Prints the loops of a loss, one for each value that is stored."""

    def __init__(
        self,
        loss: LossEquations,
        penalties: Sequence[Tuple[float, LossEquations]],
        readout: int,
    ) -> None:
        self._program = training_program(loss, penalties)
        self.reads = layers_read(loss, penalties, self._program, readout)
        self._axes = program_axes(
            self._program.instructions, {each.key: each.axes for each in self.reads}
        )
        self._inputs = dict(_INPUTS)
        for number, each in enumerate(self.reads):
            self._inputs[each.key] = _read(number, each)
        outputs = self._program.outputs
        self._loss, self._penalty = outputs[LOSS], outputs[PENALTY]
        self._gradients = [outputs.get(by_readout(each.key)) for each in self.reads]
        self.rows = {CLASSES: 0, TIME: 0}  # how many there are
        self.neuron_values = 0
        self._row: Dict[int, int] = {}  # by the number of an instruction
        self._free: Dict[str, List[int]] = {}

    def fields(self) -> List[str]:
        """Return the fields of what is read of layers, and of its gradients."""
        return [
            f"  {field.format(number)}"
            for number, each in enumerate(self.reads)
            for field in _FIELDS[each.what]
        ]

    def lines(self) -> List[str]:
        """Return the statements of the vertex."""
        stored = [number for number in self._needed() if self._is_stored(number)]
        used = [self._loads(self._program.instructions[each].arguments) for each in stored]
        used.append(self._loads(each for each in self._gradients if each is not None))
        last_use = {row: at for at, loads in enumerate(used) for row in loads}
        lines: List[str] = []
        for number, each in enumerate(self.reads):
            if each.what == SPIKES:
                lines += _train(number, each)
        for at, number in enumerate(stored):
            self._take_row(number)
            lines += self._statement(number)
            for row in used[at]:
                if last_use[row] == at and row in self._row:
                    (axis,) = self._axes[row]
                    self._free[axis].append(self._row[row])
        lines += [f"bySample[0] = v{self._loss};", f"penalty[0] = v{self._penalty};"]
        for number, each in enumerate(self.reads):
            lines += self._gradient(number, each)
        return [f"    {line}" for line in lines]

    def _gradient(self, number: int, each: LayerRead) -> List[str]:
        """Return the statements that write the gradient of what is read of a layer."""
        value = self._gradients[number]
        body = [] if value is None else self._body([value])
        result = "0.0f" if value is None else f"share[0] == 0.0f ? 0.0f : share[0] * v{value}"
        if each.what == MEMBRANE:
            place = f"t * {_count(_neurons(each))} + c"
            return _loop(
                TIME, _loop(_neurons(each), [*body, f"gradient{number}[{place}] = {result};"])
            )
        filled = f"const unsigned filled = static_cast<unsigned>(counts{number}[2 * t + 1]);"
        of_slot = f"gradient{number}[t * slots{number} + s]"
        in_slot = [
            *([f"const unsigned c = {_neuron(number)};"] if value is not None else []),
            *body,
            f"{of_slot} = {result};",
        ]
        steps = [
            filled,
            "for (unsigned s = 0; s < filled; ++s)",
            *_block(in_slot),
            f"for (unsigned s = filled; s < slots{number}; ++s)",
            f"{_INDENT}{of_slot} = 0.0f;",
        ]
        return _loop(TIME, steps)

    def _needed(self) -> List[int]:
        found = {self._loss, self._penalty}
        found.update(each for each in self._gradients if each is not None)
        for number in range(len(self._program.instructions) - 1, -1, -1):
            if number in found:
                found.update(self._program.instructions[number].arguments)
        return sorted(found)

    def _is_stored(self, number: int) -> bool:
        """Return whether a value is computed once, and not where it is used."""
        operation, axes = self._program.instructions[number].operation, self._axes[number]
        if axes == SINGLE:
            return True
        return len(axes) < 2 and operation != "input" and _copy_of(operation) is None

    def _take_row(self, number: int) -> None:
        for axis in self._axes[number]:
            free = self._free.setdefault(axis, [])
            if not free and axis in self.rows:
                free.append(self.rows[axis])
                self.rows[axis] += 1
            elif not free:
                free.append(self.neuron_values)
                self.neuron_values += neurons_of(axis)
            self._row[number] = free.pop()

    def _reached(self, targets: Iterable[int]) -> List[int]:
        """Return what a loop computes or loads to know the targets."""
        found: Set[int] = set()
        rest = list(targets)
        while rest:
            number = rest.pop()
            if number not in found and self._axes[number] != SINGLE:
                found.add(number)
                if not self._is_stored(number):
                    rest += self._program.instructions[number].arguments
        return sorted(found)

    def _loads(self, targets: Iterable[int]) -> List[int]:
        return [number for number in self._reached(targets) if self._is_stored(number)]

    def _body(self, targets: Iterable[int]) -> List[str]:
        lines = []
        for number in self._reached(targets):
            if self._is_stored(number):
                (axis,) = self._axes[number]
                text = self._stored(axis, number)
            else:
                text = self._value(number)
            lines.append(f"const float v{number} = {text};")
        return lines

    def _value(self, number: int) -> str:
        operation, arguments, value, name = self._program.instructions[number]
        if operation == "constant":
            return literal(value)
        if operation == "input":
            return self._inputs[name]
        copied = _copy_of(operation)
        if copied is not None:
            return copied.format(*arguments)
        return expression(operation, arguments)

    def _stored(self, axis: str, number: int) -> str:
        """Return the expression of a value in a row."""
        return _ROWS.get(axis, _NEURON_ROW).format(self._row[number])

    def _statement(self, number: int) -> List[str]:
        operation, arguments, _, _ = self._program.instructions[number]
        axes = self._axes[number]
        if operation in REDUCTIONS:
            lines, result = self._reduction(operation, arguments[0], number)
        elif axes == SINGLE:
            return [f"const float v{number} = {self._value(number)};"]
        else:
            lines = self._body(arguments)
            result = self._value(number)
        if axes == SINGLE:
            return [*lines, f"const float v{number} = {result};"]
        (axis,) = axes
        return _loop(axis, [*lines, f"{self._stored(axis, number)} = {result};"])

    def _reduction(self, operation: str, value: int, number: int) -> Tuple[List[str], str]:
        """Return the statements of a reduction, and the result's expression."""
        axis, body = REDUCTIONS[operation], self._body([value])
        if axis == CLASSES:
            axis = units(self._axes[value]) or CLASSES
        total = f"r{number}"
        if operation == "last":
            last = ["const unsigned t = steps - 1;", *body, f"{total} = v{value};"]
            return [f"float {total};", *_block(last)], total
        if operation != "logsumexp":
            return _reduced(operation, axis, total, body, f"v{value}"), total
        most = f"m{number}"
        lines = _reduced("largest", axis, most, body, f"v{value}")
        lines += _reduced("sum", axis, total, body, f"exponential(v{value} - {most})")
        return lines, f"{most} + logarithm({total})"


def _reduced(operation: str, axis: str, total: str, body: List[str], value: str) -> List[str]:
    """Return a loop that combines values in their order."""
    index = _index(axis)
    combined = _COMBINED[operation].format(total, "next")
    lines = [*body, f"const float next = {value};"]
    lines.append(f"{total} = {index} == 0 ? next : ({combined});")
    return [f"float {total} = 0.0f;", *_loop(axis, lines)]


def _loop(axis: str, body: List[str]) -> List[str]:
    index = _index(axis)
    return [f"for (unsigned {index} = 0; {index} < {_count(axis)}; ++{index})", *_block(body)]


def _index(axis: str) -> str:
    return "t" if axis == TIME else "c"


def _count(axis: str) -> str:
    """Return the expression of how many steps, classes or neurons there are."""
    if axis in (TIME, CLASSES):
        return "steps" if axis == TIME else "classes"
    return f"{neurons_of(axis)}u"


def _neurons(each: LayerRead) -> str:
    """Return the axis of a layer's neurons."""
    return str(units(each.axes))


def _copy_of(operation: str) -> Optional[str]:
    """Return how an operation that only chooses or repeats a value is printed."""
    return _SPREAD if operation.startswith(SPREAD_TO) else _COPIES.get(operation)


def _read(number: int, each: LayerRead) -> str:
    """Return the expression of what is read of a layer."""
    place = f"[t * {_count(_neurons(each))} + c]"
    if each.what == MEMBRANE:
        return f"membranes{number}{place}"
    return f"static_cast<float>(trains{number}{place})"


def _neuron(number: int) -> str:
    """Return the expression of the neuron in slot `s`."""
    return f"static_cast<unsigned>(ids{number}[t * slots{number} + s])"


def _train(number: int, each: LayerRead) -> List[str]:
    """Return the statements that spread the ids of spikes over the neurons."""
    place = f"trains{number}[t * {_count(_neurons(each))} + "
    spikes = f"const unsigned spikes = static_cast<unsigned>(counts{number}[2 * t]);"
    steps = [
        *_loop(_neurons(each), [f"{place}c] = 0;"]),
        spikes,
        "for (unsigned s = 0; s < spikes; ++s)",
        f"{_INDENT}{place}{_neuron(number)}] = 1;",
    ]
    return [
        f"const unsigned slots{number} = ids{number}.size() / steps;",
        *_loop(TIME, steps),
    ]


def _block(body: List[str]) -> List[str]:
    return ["{", *(f"{_INDENT}{line}" for line in body), "}"]
