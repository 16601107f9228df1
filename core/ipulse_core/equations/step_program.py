"""One step of a neuron as a list of instructions, each with the numbers of earlier ones."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from ipulse_core.equations.neuron import INPUT, SPIKE, NeuronEquations
from ipulse_core.equations.parser import new
from ipulse_core.equations.tree import Constant, Expression, Variable, variables


class Instruction(NamedTuple):
    """An operation of tree.ARITIES, "spike" (1 where its argument is above 0), or a leaf."""

    operation: str  # "constant" and "input" are leaves
    arguments: Tuple[int, ...] = ()
    value: float = 0.0  # of a constant
    name: str = ""  # of an input


class StepProgram(NamedTuple):
    """Instructions in order, and the numbers of those that are results."""

    instructions: Tuple[Instruction, ...]
    outputs: Dict[str, int]


class ProgramBuilder:
    """Appends instructions; equal ones are one instruction."""

    def __init__(self) -> None:
        self.instructions: List[Instruction] = []
        self._known: Dict[Instruction, int] = {}

    def constant(self, value: float) -> int:
        """Returns the number of a constant."""
        return self._number(Instruction("constant", value=value))

    def input(self, name: str) -> int:
        """Returns the number of an input."""
        return self._number(Instruction("input", name=name))

    def apply(self, operation: str, *arguments: int) -> int:
        """Returns the number of an operation."""
        return self._number(Instruction(operation, arguments))

    def add(self, tree: Expression, names: Mapping[str, int]) -> int:
        """Returns the number of an expression's value. `names` has those of its variables."""
        if isinstance(tree, Constant):
            return self.constant(tree.value)
        if isinstance(tree, Variable):
            return names[tree.name]
        return self.apply(tree.name, *(self.add(each, names) for each in tree.arguments))

    def program(self, outputs: Mapping[str, int]) -> StepProgram:
        """Returns the instructions that the outputs need."""
        needed = set(outputs.values())
        for number in range(len(self.instructions) - 1, -1, -1):
            if number in needed:
                needed.update(self.instructions[number].arguments)
        places = {number: place for place, number in enumerate(sorted(needed))}
        found = [self.instructions[number] for number in sorted(needed)]
        return StepProgram(
            tuple(
                each._replace(arguments=tuple(places[number] for number in each.arguments))
                for each in found
            ),
            {name: places[number] for name, number in outputs.items()},
        )

    def _number(self, instruction: Instruction) -> int:
        if instruction not in self._known:
            self._known[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return self._known[instruction]


class StepValues(NamedTuple):
    """The numbers of the values of one step."""

    states: List[int]  # after the reset
    x: int
    spike: int


def add_step(builder: ProgramBuilder, neuron: NeuronEquations) -> StepValues:
    """Add one step of a neuron. Its inputs are the states, the parameters and I, by their names."""
    names = {name: builder.input(name) for name in (*neuron.states, INPUT)}
    names.update((each.name, builder.input(each.name)) for each in neuron.parameters)
    for index in _update_order(neuron):
        names[new(neuron.states[index])] = builder.add(neuron.updates[index], names)
    updated = dict(names)
    updated.update((state, names[new(state)]) for state in neuron.states)
    x = builder.add(neuron.spike, updated)
    updated[SPIKE] = builder.apply("spike", x)
    states = [builder.add(reset, updated) for reset in neuron.resets]
    return StepValues(states, x, updated[SPIKE])


def state_output(index: int) -> str:
    """Returns the name of a state after the step among the outputs."""
    return f"state {index}"


def forward_program(neuron: NeuronEquations) -> StepProgram:
    """Returns one step: its outputs are x, the value of `spike`, and the states after it."""
    builder = ProgramBuilder()
    values = add_step(builder, neuron)
    outputs = {"x": values.x}
    outputs.update((state_output(at), number) for at, number in enumerate(values.states))
    return builder.program(outputs)


def _update_order(neuron: NeuronEquations) -> Sequence[int]:
    """Returns the states in an order in which each update's new(...) are known."""
    order: List[int] = []
    rest = list(range(len(neuron.states)))
    while rest:
        known = {new(neuron.states[at]) for at in order}
        every = {new(state) for state in neuron.states}
        ready = [at for at in rest if set(variables(neuron.updates[at])) & every <= known]
        order += ready[:1]
        rest.remove(ready[0])
    return order
