"""The axes of the values in a loss: each class has one, each time step, both, or the sample."""

from __future__ import annotations

from typing import Dict, FrozenSet, Mapping, Optional

from ipulse_core.equations.tree import Constant, Expression, Operation, Variable

Axes = FrozenSet[str]

CLASSES, TIME = "classes", "time"
SINGLE: Axes = frozenset()
OF_CLASSES, OF_TIME = frozenset({CLASSES}), frozenset({TIME})
OF_BOTH = OF_CLASSES | OF_TIME

# Functions over an axis: those that leave one value, and those that leave the axis.
REDUCTIONS: Dict[str, str] = {
    **dict.fromkeys(("sum", "mean", "largest", "logsumexp"), CLASSES),
    **dict.fromkeys(("sum_over_time", "mean_over_time", "max_over_time", "last"), TIME),
}
NORMALISATIONS = ("softmax", "log_softmax")
AXIS_FUNCTIONS = (*REDUCTIONS, *NORMALISATIONS)


def axes_of(tree: Expression, names: Mapping[str, Axes]) -> Axes:
    """Returns the axes of an expression's value; `names` has those of its variables."""
    if isinstance(tree, Constant):
        return SINGLE
    if isinstance(tree, Variable):
        return names[tree.name]
    found = SINGLE.union(*(axes_of(argument, names) for argument in tree.arguments))
    axis = REDUCTIONS.get(tree.name)
    return found if axis is None else found - {axis}


def missing_axis(operation: Operation, names: Mapping[str, Axes]) -> Optional[str]:
    """Returns what an operation lacks in its argument; None if it lacks nothing."""
    if operation.name not in AXIS_FUNCTIONS:
        return None
    axis = REDUCTIONS.get(operation.name, CLASSES)
    if axis in axes_of(operation.arguments[0], names):
        return None
    each = "class" if axis == CLASSES else "time step"
    return f"{operation.name} needs a value of each {each}: its argument has none"
