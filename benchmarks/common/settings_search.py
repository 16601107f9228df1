"""Search for the settings of the best accuracy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

Choice = dict[str, float]  # a value of each setting


def search(
    grid: Mapping[str, Sequence[float]], one_by_one: bool, accuracy_of: Callable[[Choice], float]
) -> Choice:
    """Return the choice of the best accuracy, the first of several.

    one_by_one: choose one setting after the other, the later ones at their first value, in place of
    trying all combinations.
    """
    combinations = itertools.product(*grid.values())
    rounds = [[dict(zip(grid, values, strict=True)) for values in combinations]]
    if one_by_one:
        rounds = [[{name: value} for value in values] for name, values in grid.items()]
    best = {name: values[0] for name, values in grid.items()}
    found: dict[tuple[float, ...], float] = {}
    for changes in rounds:
        choices = [{**best, **change} for change in changes]
        for choice in choices:
            point = tuple(choice.values())
            if point not in found:
                found[point] = accuracy_of(choice)
        best = max(choices, key=lambda choice: found[tuple(choice.values())])
    return best
