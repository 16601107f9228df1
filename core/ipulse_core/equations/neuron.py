"""A neuron as equations: its states, its parameters, and what happens in one step.

In each step, and for each neuron:

1. every state gets the value of its update, which reads the states of the step before and I, the
   input current; new(u) is the updated value of another state;
2. the neuron spikes where the value of `spike`, which reads the updated states, is above 0;
3. every state gets the value of its reset, which reads the updated states and r: 1 for a neuron
   that spiked, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple, Union

from ipulse_core.equations.parser import FUNCTIONS, MAX_LENGTH, NEW, new, parse
from ipulse_core.equations.tokens import ExpressionError
from ipulse_core.equations.tree import Expression, Variable, operations, variables
from ipulse_core.errors import Problem

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
MAX_NAME = 32  # characters
MAX_STATES = 8
MAX_PARAMETERS = 16
MAX_OPERATIONS = 64
MOST_TABLE_VALUES = 64  # of a surrogate, each of which takes some operations
INPUT, SPIKE = "I", "r"
MEMBRANE = "membrane of this step"  # a state that no equation names
RESERVED = (INPUT, SPIKE, NEW, *FUNCTIONS)


@dataclass(frozen=True)
class NeuronParameter:
    """A number of each neuron, or of the layer."""

    name: str
    value: Union[float, Tuple[float, ...]]
    minimum: float
    maximum: float
    is_per_neuron: bool
    is_trained: bool


@dataclass(frozen=True)
class NeuronEquations:
    """The equations of a neuron as trees; one update and one reset for each state."""

    name: str
    states: Tuple[str, ...]
    initial: Tuple[float, ...]
    parameters: Tuple[NeuronParameter, ...]
    updates: Tuple[Expression, ...]
    spike: Expression
    resets: Tuple[Expression, ...]

    @property
    def trained(self) -> Tuple[NeuronParameter, ...]:
        """The parameters that training changes."""
        return tuple(parameter for parameter in self.parameters if parameter.is_trained)


def with_membrane(neuron: NeuronEquations) -> NeuronEquations:
    """Returns the neuron with one more state, the last: its first one before the reset."""
    return replace(
        neuron,
        states=(*neuron.states, MEMBRANE),
        initial=(*neuron.initial, 0.0),
        updates=(*neuron.updates, Variable(MEMBRANE)),
        resets=(*neuron.resets, Variable(neuron.states[0])),
    )


class InvalidEquations(ValueError):
    """The equations of a neuron or of a loss are wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Take the problems; their pointers begin at the neuron or loss."""
        super().__init__("; ".join(f"{each.pointer}: {each.detail}" for each in problems))
        self.problems = tuple(problems)


def read_neuron(described: Any) -> NeuronEquations:
    """Returns the neuron that a spec describes.

    Args:
        described: `neuron` of a layer: a model of `ipulse.spec`, or the document that the runner
            reads.

    Raises:
        InvalidEquations: with every problem.
    """
    reader = _Reader(described)
    found = reader.read()
    if reader.problems:
        raise InvalidEquations(reader.problems)
    return found


def size_problems(characters: int, count: int) -> Iterator[Problem]:
    """Yields what is too large in equations with so many characters and operations."""
    if characters > MAX_LENGTH:
        detail = f"all equations have {characters:,} characters; at most {MAX_LENGTH:,} are allowed"
        yield Problem("", "too_large", detail)
    if count > MAX_OPERATIONS:
        detail = f"the equations have {count} operations; at most {MAX_OPERATIONS} are allowed"
        yield Problem("", "too_large", detail)


class _Reader:
    """Reads the parts of a neuron, and collects what is wrong."""

    def __init__(self, described: Any) -> None:
        self.problems: List[Problem] = []
        self._described = described
        self._states = [state.name for state in described.states]
        self._parameters = [parameter.name for parameter in described.parameters]
        self._texts: Dict[str, str] = {}
        self._trees: Dict[str, Expression] = {}

    def read(self) -> NeuronEquations:
        described = self._described
        self._check_names()
        updates, resets = [], []
        common = [*self._states, *self._parameters, INPUT]
        for index, state in enumerate(described.states):
            place = f"/states/{index}"
            if state.update is None and state.reset is None:
                detail = f"{state.name} never changes: give it an update, or make it a parameter"
                self._report(place, "inconsistent", detail)
            updates.append(self._tree(f"{place}/update", state.update, state.name, common, True))
            names = [*common, SPIKE]
            resets.append(self._tree(f"{place}/reset", state.reset, state.name, names, False))
        spike = self._tree("/spike", described.spike, "", common, False)
        if not self.problems:
            self._check_size()
            self._check_order(updates)
            self._check_use()
        return NeuronEquations(
            name=described.name,
            states=tuple(self._states),
            initial=tuple(float(state.initial) for state in described.states),
            parameters=tuple(
                self._parameter(index, each) for index, each in enumerate(described.parameters)
            ),
            updates=tuple(updates),
            spike=spike,
            resets=tuple(resets),
        )

    def _report(self, pointer: str, code: str, detail: str) -> None:
        self.problems.append(Problem(pointer, code, detail))

    def _check_names(self) -> None:
        places = [f"/states/{index}" for index in range(len(self._states))]
        places += [f"/parameters/{index}" for index in range(len(self._parameters))]
        known: Set[str] = set()
        for place, name in zip(places, [*self._states, *self._parameters]):
            if name in RESERVED:
                detail = f"{name} has a meaning in equations: choose another name"
                self._report(f"{place}/name", "inconsistent", detail)
            elif name in known:
                detail = f"{name} is the name of another state or parameter: names differ"
                self._report(f"{place}/name", "inconsistent", detail)
            known.add(name)

    def _tree(
        self, pointer: str, text: Any, state: str, names: List[str], is_update: bool
    ) -> Expression:
        """Returns an equation; without one, the state keeps its value."""
        if text is None:
            return Variable(state)
        self._texts[pointer] = text
        try:
            self._trees[pointer] = parse(text, names, self._states if is_update else ())
        except ExpressionError as error:
            self._report(pointer, "wrong_expression", str(error))
            return Variable(state)
        return self._trees[pointer]

    def _check_size(self) -> None:
        size = sum(len(text) for text in self._texts.values())
        count = sum(operations(tree) for tree in self._trees.values())
        self.problems.extend(size_problems(size, count))

    def _check_order(self, updates: List[Expression]) -> None:
        """Reports updates that need each other's results."""
        needs = {
            state: {other for other in self._states if new(other) in set(variables(update))}
            for state, update in zip(self._states, updates)
        }
        done: Set[str] = set()
        while len(done) < len(needs):
            ready = {state for state in needs if state not in done and needs[state] <= done}
            if not ready:
                index = next(at for at, state in enumerate(self._states) if state not in done)
                rest = ", ".join(sorted(set(needs) - done))
                detail = f"updates need the new values of each other ({rest}): remove one new(...)"
                self._report(f"/states/{index}/update", "inconsistent", detail)
                return
            done |= ready

    def _check_use(self) -> None:
        used = {name for tree in self._trees.values() for name in variables(tree)}
        for index, name in enumerate(self._parameters):
            if name not in used:
                detail = f"{name} is in no equation: remove it"
                self._report(f"/parameters/{index}/name", "inconsistent", detail)
        if INPUT not in used:
            detail = f"{INPUT}, the input current, is in no equation: nothing reaches the neuron"
            self._report("/states", "inconsistent", detail)

    def _parameter(self, index: int, described: Any) -> NeuronParameter:
        place = f"/parameters/{index}"
        values = described.value if isinstance(described.value, tuple) else (described.value,)
        least, most = described.minimum, described.maximum
        is_per_neuron = described.per == "neuron"
        if isinstance(described.value, tuple) and not is_per_neuron:
            detail = "the layer has one value: give one number, or set per to neuron"
            self._report(f"{place}/value", "inconsistent", detail)
        if least is not None and most is not None and least > most:
            self._report(f"{place}/minimum", "inconsistent", f"must not be above maximum ({most})")
        elif any(_is_outside(value, least, most) for value in values):
            self._report(f"{place}/value", "inconsistent", "must be from minimum to maximum")
        return NeuronParameter(
            name=described.name,
            value=described.value,
            minimum=float("-inf") if least is None else float(least),
            maximum=float("inf") if most is None else float(most),
            is_per_neuron=is_per_neuron,
            is_trained=bool(described.trainable),
        )


def _is_outside(value: float, least: Any, most: Any) -> bool:
    return (least is not None and value < least) or (most is not None and value > most)
