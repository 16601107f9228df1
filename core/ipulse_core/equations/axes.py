"""The axes of the values in a loss: each class has one, each time step, both, or the sample.

Neurons of a layer that are not as many as classes have an axis of their own in place of CLASSES.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, Mapping, Optional

from ipulse_core.equations.tree import Constant, Expression, Operation, Variable

Axes = FrozenSet[str]

CLASSES, TIME = "classes", "time"
SINGLE: Axes = frozenset()
OF_CLASSES, OF_TIME = frozenset({CLASSES}), frozenset({TIME})
OF_BOTH = OF_CLASSES | OF_TIME
_NEURONS = " neurons"  # the axis of 128 neurons is "128 neurons"

# Functions over an axis: those that leave one value, and those that leave the axis. Those over
# classes are over neurons where a value has some.
REDUCTIONS: Dict[str, str] = {
    **dict.fromkeys(("sum", "mean", "largest", "logsumexp"), CLASSES),
    **dict.fromkeys(("sum_over_time", "mean_over_time", "max_over_time", "last"), TIME),
}
NORMALISATIONS = ("softmax", "log_softmax")
AXIS_FUNCTIONS = (*REDUCTIONS, *NORMALISATIONS)


def neurons_axis(count: int) -> str:
    """Returns the axis of so many neurons."""
    return f"{count}{_NEURONS}"


def neurons_of(axis: str) -> int:
    """Returns how many neurons an axis of neurons has."""
    return int(axis[: -len(_NEURONS)])


def units(axes: Axes) -> Optional[str]:
    """Returns the axis of classes or neurons; None if a value has neither."""
    return next(iter(sorted(axes - OF_TIME)), None)


def reduced(operation: str, axes: Axes) -> Axes:
    """Returns the axes that are left of an argument's by an operation, all unless it reduces."""
    axis = REDUCTIONS.get(operation)
    if axis is None:
        return axes
    return axes - OF_TIME if axis == TIME else axes & OF_TIME


def axes_of(tree: Expression, names: Mapping[str, Axes]) -> Axes:
    """Returns the axes of an expression's value; `names` has those of its variables."""
    if isinstance(tree, Constant):
        return SINGLE
    if isinstance(tree, Variable):
        return names[tree.name]
    found = SINGLE.union(*(axes_of(argument, names) for argument in tree.arguments))
    return reduced(tree.name, found)


def wrong_axes(operation: Operation, names: Mapping[str, Axes]) -> Optional[str]:
    """Returns what an operation lacks in its argument, or why arguments do not go together."""
    found = SINGLE.union(*(axes_of(argument, names) for argument in operation.arguments))
    if operation.name not in AXIS_FUNCTIONS:
        sets = sorted(found - OF_TIME)
        if len(sets) < 2:
            return None
        both = " and ".join(sets)
        return f"values of {both} do not go together: take the sum(...) or mean(...) of one first"
    axis = REDUCTIONS.get(operation.name, CLASSES)
    if (TIME in found) if axis == TIME else (units(found) is not None):
        return None
    each = "class or neuron" if axis == CLASSES else "time step"
    return f"{operation.name} needs a value of each {each}: its argument has none"
