"""Divisions of equations that may be by 0."""

from __future__ import annotations

from random import Random
from typing import Any, Dict, List

import pytest

from ipulse_core.equations.parser import parse
from ipulse_core.equations.ranges import Interval, interval_of, risky_divisions
from ipulse_core.equations.tree import Constant, Expression, Operation, Variable
from ipulse_ops.equations.interpreter import FUNCTIONS
from tests.equations import neuron_document, neuron_of, random_expression

TRAINED = {"name": "p", "value": 1.0, "trainable": True}


@pytest.mark.parametrize(
    ("update", "parameters", "is_risky"),
    [
        ("u + I / 2", [], False),
        ("I / (1 + square(u))", [], False),
        ("I / sqrt(0.1 + abs(u))", [], False),
        ("I / max(u, 0.01)", [], False),
        ("I / u", [], True),
        ("I / (1 - abs(u))", [], True),
        ("I / p + u", [{"name": "p", "value": 1.0}], False),
        ("I / p + u", [{"name": "p", "value": (1.0, 0.0)}], True),
        ("I / p + u", [TRAINED], True),
        ("I / p + u", [{**TRAINED, "minimum": 0.5}], False),
        ("I / p + u", [{**TRAINED, "minimum": 1e-60}], True),
        ("I / square(p) + u", [{**TRAINED, "minimum": 1e-30}], True),
        ("I / (u > 0)", [], True),
    ],
)
def test_divisors_that_may_be_0(
    update: str, parameters: List[Dict[str, Any]], is_risky: bool
) -> None:
    document = neuron_document([{"name": "u", "update": update}], "u", parameters)
    assert [place for place, _ in risky_divisions(neuron_of(document))] == (
        ["the update of u"] if is_risky else []
    )


def value_of(tree: Expression, names: Dict[str, float]) -> float:
    if isinstance(tree, Constant):
        return tree.value
    if isinstance(tree, Variable):
        return names[tree.name]
    assert isinstance(tree, Operation)
    return float(FUNCTIONS[tree.name](*(value_of(each, names) for each in tree.arguments)))


def test_values_of_random_expressions_are_within() -> None:
    random = Random(7)
    bounds = {"a": Interval(-1.0, 2.0), "b": Interval(0.5, 0.75)}
    for _ in range(300):
        tree = parse(random_expression(random, ["a", "b"], 2), ["a", "b"])
        low, high = interval_of(tree, bounds)
        for _ in range(5):
            value = value_of(tree, {name: random.uniform(*ends) for name, ends in bounds.items()})
            assert low - 1e-9 <= value <= high + 1e-9
