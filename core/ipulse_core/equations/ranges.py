"""Finds divisions by 0 in a neuron's equations, from the bounds of its parameters.

States and the input current may be any number, r is 0 to 1.
"""

from __future__ import annotations

import math
from typing import Iterator, List, Mapping, NamedTuple, Tuple

from ipulse_core.equations.neuron import SPIKE, NeuronEquations, NeuronParameter
from ipulse_core.equations.tree import Constant, Expression, Operation, Variable

_TINY = 2.0**-150  # float32 rounds it to 0
_BOOLEAN = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


class Interval(NamedTuple):
    """The numbers from low to high."""

    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether 0 is among them, or what is 0 in float32."""
        return self.low <= _TINY and self.high >= -_TINY


ANY = Interval(-math.inf, math.inf)


def risky_divisions(neuron: NeuronEquations) -> List[Tuple[str, str]]:
    """Returns the equation and the range of each divisor that may be 0."""
    names = {parameter.name: _bounds(parameter) for parameter in neuron.parameters}
    names[SPIKE] = Interval(0.0, 1.0)
    equations = [("spike", neuron.spike)]
    for state, update, reset in zip(neuron.states, neuron.updates, neuron.resets):
        equations += [(f"the update of {state}", update), (f"the reset of {state}", reset)]
    found = []
    for place, tree in equations:
        for divisor in _divisors(tree):
            interval = interval_of(divisor, names)
            if interval.has_zero:
                found.append((place, f"{interval.low:g} to {interval.high:g}"))
    return found


def interval_of(tree: Expression, names: Mapping[str, Interval]) -> Interval:
    """Returns numbers among which every value of the expression is; unknown names are any."""
    if isinstance(tree, Constant):
        return Interval(tree.value, tree.value)
    if isinstance(tree, Variable):
        return names.get(tree.name, ANY)
    arguments = [interval_of(argument, names) for argument in tree.arguments]
    return _of_operation(tree.name, arguments)


def _of_operation(name: str, arguments: List[Interval]) -> Interval:
    if name in _BOOLEAN:
        return Interval(0.0, 1.0)
    if name == "where":
        return _around([*arguments[1], *arguments[2]])
    a, b = arguments[0], arguments[-1]
    if name == "add":
        return _around([a.low + b.low, a.high + b.high])
    if name == "subtract":
        return _around([a.low - b.high, a.high - b.low])
    if name == "multiply":
        return _around([_product(x, y) for x in a for y in b])
    if name == "divide":
        if b.has_zero:
            return ANY
        return _around([_product(x, 1 / y) for x in a for y in b])
    if name == "negate":
        return Interval(-a.high, -a.low)
    if name in ("min", "max"):
        chosen = min if name == "min" else max
        return Interval(chosen(a.low, b.low), chosen(a.high, b.high))
    return _of_function(name, a)


def _of_function(name: str, a: Interval) -> Interval:
    if name in ("abs", "square"):
        ends = [abs(end) if name == "abs" else _product(end, end) for end in a]
        return Interval(0.0 if a.has_zero else min(ends), max(ends))
    if name == "sqrt":
        return Interval(math.sqrt(max(a.low, 0.0)), math.sqrt(max(a.high, 0.0)))
    if name == "exp":  # as float32: 0 below some -104
        return Interval(math.exp(min(a.low, 88.0)) if a.low > -80 else 0.0, math.inf)
    if name == "log":
        low = math.log(a.low) if a.low > 0 else -math.inf
        return Interval(low, math.log(a.high) if a.high > 0 else math.inf)
    if name == "tanh":
        return Interval(math.tanh(a.low), math.tanh(a.high))
    return a  # detach


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def _around(ends: List[float]) -> Interval:
    if any(math.isnan(end) for end in ends):
        return ANY
    return Interval(min(ends), max(ends))


def _divisors(tree: Expression) -> Iterator[Expression]:
    if isinstance(tree, Operation):
        if tree.name == "divide":
            yield tree.arguments[1]
        for argument in tree.arguments:
            yield from _divisors(argument)


def _bounds(parameter: NeuronParameter) -> Interval:
    if parameter.is_trained:
        return Interval(parameter.minimum, parameter.maximum)
    values: Tuple[float, ...]
    values = parameter.value if isinstance(parameter.value, tuple) else (parameter.value,)
    return Interval(min(values), max(values))
