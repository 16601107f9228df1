"""The tree of an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, Tuple, Union

# How many arguments each operation takes.
ARITIES: Dict[str, int] = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), 2),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), 2),
    **dict.fromkeys(("min", "max"), 2),
    **dict.fromkeys(("negate", "abs", "square", "sqrt", "exp", "log", "tanh", "detach"), 1),
    "where": 3,
    # For losses: over classes, and over time.
    **dict.fromkeys(("sum", "mean", "largest", "softmax", "log_softmax", "logsumexp"), 1),
    **dict.fromkeys(("sum_over_time", "mean_over_time", "max_over_time", "last"), 1),
}


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class Variable:
    """A name, of a state for example; or new(u) for the updated state u."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operation of ARITIES on other expressions."""

    name: str
    arguments: Tuple[Expression, ...]


Expression = Union[Constant, Variable, Operation]


def operations(tree: Expression) -> int:
    """Returns the number of operations of a tree."""
    if not isinstance(tree, Operation):
        return 0
    return 1 + sum(operations(argument) for argument in tree.arguments)


def depth(tree: Expression) -> int:
    """Returns the number of operations on the longest path to a leaf."""
    if not isinstance(tree, Operation):
        return 0
    return 1 + max(depth(argument) for argument in tree.arguments)


def variables(tree: Expression) -> Iterator[str]:
    """Yields the names of a tree from left to right, as often as it has them."""
    if isinstance(tree, Variable):
        yield tree.name
    elif isinstance(tree, Operation):
        for argument in tree.arguments:
            yield from variables(argument)
