"""The derivative of one step, by reverse mode over its instructions.

Where a function has no derivative, it is that of one side: min and max pass the gradient to the
first of two equal arguments, abs passes 0 at 0. Comparisons and the condition of `where` pass none.
A spike passes the surrogate's.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ipulse_core.equations.neuron import INPUT, NeuronEquations
from ipulse_core.equations.step_program import (
    ProgramBuilder,
    StepProgram,
    add_step,
    state_output,
)
from ipulse_core.equations.tree import Expression

BY_SPIKE = "by spike"  # an input: the loss's gradient of the spike
SURROGATE_ARGUMENT = "x"  # the variable of a surrogate's expression

Terms = List[Tuple[int, int]]  # an instruction, and what is added to its gradient


def by_state(index: int) -> str:
    """Returns the name of an input: the gradient of a state after the step."""
    return f"by state {index}"


def backward_program(
    neuron: NeuronEquations, surrogate: Expression, trained: Sequence[str]
) -> StepProgram:
    """Returns the adjoint of one step.

    Args:
        neuron: Its inputs are those of `forward_program`, `by_state` and BY_SPIKE.
        surrogate: The derivative of a spike, in SURROGATE_ARGUMENT.
        trained: Names of parameters whose gradient is an output.

    The outputs are the gradients of I and of the states before the step (`state_output`), and of
    the trained parameters, by their names.
    """
    builder = ProgramBuilder()
    values = add_step(builder, neuron)
    last = len(builder.instructions)
    seeds = [(values.spike, builder.input(BY_SPIKE))]
    seeds += [(number, builder.input(by_state(at))) for at, number in enumerate(values.states)]

    def terms(number: int, grad: int) -> Terms:
        if builder.instructions[number].operation != "spike":
            return elementwise_terms(builder, number, grad)
        (x,) = builder.instructions[number].arguments
        phi = builder.add(surrogate, {SURROGATE_ARGUMENT: x})
        return [(x, builder.apply("multiply", phi, grad))]

    grads = gradients(builder, last, seeds, terms)
    zero = builder.constant(0.0)

    def gradient(name: str) -> int:
        return grads.get(builder.input(name), zero)

    outputs = {INPUT: gradient(INPUT)}
    for index, state in enumerate(neuron.states):
        outputs[state_output(index)] = gradient(state)
    outputs.update((name, gradient(name)) for name in trained)
    return builder.program(outputs)


def gradients(
    builder: ProgramBuilder, last: int, seeds: Terms, terms: Callable[[int, int], Terms]
) -> Dict[int, int]:
    """Returns the gradients of instructions by their numbers, in reverse mode.

    Args:
        builder: Has the instructions, and gets those of the gradients.
        last: The number of its instructions that are differentiated.
        seeds: Results, and their gradients.
        terms: Returns what an instruction's gradient adds to those of its arguments, given the
            number of the instruction and of its gradient.
    """
    grads: Dict[int, int] = {}

    def add_to(number: int, term: int) -> None:
        known = grads.get(number)
        grads[number] = term if known is None else builder.apply("add", known, term)

    for number, grad in seeds:
        add_to(number, grad)
    for number in range(last - 1, -1, -1):
        if number in grads:
            for argument, term in terms(number, grads[number]):
                add_to(argument, term)
    return grads


def elementwise_terms(builder: ProgramBuilder, number: int, grad: int) -> Terms:
    """Returns what the gradient of an instruction adds to those of its arguments."""
    operation, arguments, _, _ = builder.instructions[number]
    rule: Optional[_Rule] = _RULES.get(operation)
    return [] if rule is None else rule(builder, arguments, number, grad)


_Rule = Callable[[ProgramBuilder, Tuple[int, ...], int, int], Terms]


def _add(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], grad), (args[1], grad)]


def _subtract(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], grad), (args[1], b.apply("negate", grad))]


def _multiply(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    left, right = args
    return [(left, b.apply("multiply", grad, right)), (right, b.apply("multiply", grad, left))]


def _divide(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    share = b.apply("divide", grad, args[1])
    return [(args[0], share), (args[1], b.apply("negate", b.apply("multiply", share, y)))]


def _negate(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], b.apply("negate", grad))]


def _chosen(b: ProgramBuilder, args: Tuple[int, ...], grad: int) -> Terms:
    condition, left, right = args
    zero = b.constant(0.0)
    return [
        (left, b.apply("where", condition, grad, zero)),
        (right, b.apply("where", condition, zero, grad)),
    ]


def _min(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return _chosen(b, (b.apply("less_equal", *args), *args), grad)


def _max(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return _chosen(b, (b.apply("greater_equal", *args), *args), grad)


def _where(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return _chosen(b, args, grad)


def _abs(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    (x,) = args
    zero = b.constant(0.0)
    above = b.apply("where", b.apply("greater", x, zero), grad, zero)
    return [(x, b.apply("where", b.apply("less", x, zero), b.apply("negate", grad), above))]


def _square(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], b.apply("multiply", grad, b.apply("multiply", b.constant(2.0), args[0])))]


def _sqrt(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], b.apply("divide", grad, b.apply("multiply", b.constant(2.0), y)))]


def _log(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], b.apply("divide", grad, args[0]))]


def _exp(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    return [(args[0], b.apply("multiply", grad, y))]


def _tanh(b: ProgramBuilder, args: Tuple[int, ...], y: int, grad: int) -> Terms:
    slope = b.apply("subtract", b.constant(1.0), b.apply("square", y))
    return [(args[0], b.apply("multiply", grad, slope))]


_RULES: Dict[str, _Rule] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negate": _negate,
    "min": _min,
    "max": _max,
    "where": _where,
    "abs": _abs,
    "square": _square,
    "sqrt": _sqrt,
    "exp": _exp,
    "log": _log,
    "tanh": _tanh,
}
