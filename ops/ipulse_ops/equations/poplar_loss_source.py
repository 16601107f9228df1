"""Prints the vertex of a loss with equations for the tiles of an IPU.

A vertex computes the loss of one sample. Values that each class has, or each step, are rows of its
memory; values that each class has in each step are computed where they are used, so that memory
does not grow with the number of operations. Nothing that a user wrote is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Set, Tuple

from ipulse_core.equations.axes import CLASSES, OF_BOTH, REDUCTIONS, SINGLE, TIME
from ipulse_core.equations.loss import (
    CLASS_COUNT,
    LABEL,
    MEMBRANE,
    RIGHT,
    STEP,
    STEP_COUNT,
    STEP_TARGET,
    TARGET,
    LossEquations,
)
from ipulse_core.equations.loss_program import LOSS, by_readout, loss_program, program_axes
from ipulse_ops.equations.source import expression, literal

_TEMPLATE = Path(__file__).resolve().parent / "poplar" / "loss.cpp"
_INPUTS = {
    MEMBRANE: "membrane[t * classes + c]",
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
_INDICES = {CLASSES: ("c", "classes"), TIME: ("t", "steps")}
_ROWS = {CLASSES: "classRows[{0} * classes + c]", TIME: "stepRows[{0} * steps + t]"}
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
        right: What the readout is compared with, a name of RIGHT.
    """

    codelet: str
    class_rows: int
    step_rows: int
    right: str


def loss_vertex(equations: LossEquations) -> LossVertex:
    """Return the vertex of a loss of the readout's membrane."""
    (right,) = (name for name in RIGHT if name in equations.reads)
    printer = _Printer(equations)
    text = _TEMPLATE.read_text("utf-8").replace("    /*LOSS*/", "\n".join(printer.lines()))
    codelet = text.replace("/*RIGHT*/", "int" if right == LABEL else "float")
    return LossVertex(codelet, max(1, printer.rows[CLASSES]), max(1, printer.rows[TIME]), right)


class _Printer:
    """Prints the loops of a loss, one for each value that is stored."""

    def __init__(self, equations: LossEquations) -> None:
        self._program = loss_program(equations)
        self._axes = program_axes(self._program.instructions)
        outputs = self._program.outputs
        self._loss, self._gradient = outputs[LOSS], outputs[by_readout(MEMBRANE)]
        self.rows = {CLASSES: 0, TIME: 0}  # how many there are
        self._row: Dict[int, int] = {}  # by the number of an instruction
        self._free: Dict[str, List[int]] = {CLASSES: [], TIME: []}

    def lines(self) -> List[str]:
        """Return the statements of the vertex."""
        stored = [number for number in self._needed() if self._is_stored(number)]
        used = [self._loads(self._program.instructions[each].arguments) for each in stored]
        used.append(self._loads([self._gradient]))
        last_use = {row: at for at, loads in enumerate(used) for row in loads}
        lines: List[str] = []
        for at, number in enumerate(stored):
            self._take_row(number)
            lines += self._statement(number)
            for row in used[at]:
                if last_use[row] == at and row in self._row:
                    (axis,) = self._axes[row]
                    self._free[axis].append(self._row[row])
        lines.append(f"bySample[0] = v{self._loss};")
        result = (
            f"gradient[t * classes + c] = share[0] == 0.0f ? 0.0f : share[0] * v{self._gradient};"
        )
        body = [*self._body([self._gradient]), result]
        lines += _loop(TIME, _loop(CLASSES, body))
        return [f"    {line}" for line in lines]

    def _needed(self) -> List[int]:
        found = {self._loss, self._gradient}
        for number in range(len(self._program.instructions) - 1, -1, -1):
            if number in found:
                found.update(self._program.instructions[number].arguments)
        return sorted(found)

    def _is_stored(self, number: int) -> bool:
        """Return whether a value is computed once, and not where it is used."""
        operation, axes = self._program.instructions[number].operation, self._axes[number]
        if axes == SINGLE:
            return True
        return axes != OF_BOTH and operation not in ("input", *_COPIES)

    def _take_row(self, number: int) -> None:
        for axis in self._axes[number]:
            free = self._free[axis]
            if not free:
                free.append(self.rows[axis])
                self.rows[axis] += 1
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
                text = _ROWS[axis].format(self._row[number])
            else:
                text = self._value(number)
            lines.append(f"const float v{number} = {text};")
        return lines

    def _value(self, number: int) -> str:
        operation, arguments, value, name = self._program.instructions[number]
        if operation == "constant":
            return literal(value)
        if operation == "input":
            return _INPUTS[name]
        if operation in _COPIES:
            return _COPIES[operation].format(*arguments)
        return expression(operation, arguments)

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
        return _loop(axis, [*lines, f"{_ROWS[axis].format(self._row[number])} = {result};"])

    def _reduction(self, operation: str, value: int, number: int) -> Tuple[List[str], str]:
        """Return the statements of a reduction, and the result's expression."""
        axis, body = REDUCTIONS[operation], self._body([value])
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
    index, _ = _INDICES[axis]
    combined = _COMBINED[operation].format(total, "next")
    lines = [*body, f"const float next = {value};"]
    lines.append(f"{total} = {index} == 0 ? next : ({combined});")
    return [f"float {total} = 0.0f;", *_loop(axis, lines)]


def _loop(axis: str, body: List[str]) -> List[str]:
    index, count = _INDICES[axis]
    return [f"for (unsigned {index} = 0; {index} < {count}; ++{index})", *_block(body)]


def _block(body: List[str]) -> List[str]:
    return ["{", *(f"{_INDENT}{line}" for line in body), "}"]
