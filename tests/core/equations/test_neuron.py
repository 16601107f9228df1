"""Neurons of equations: what is read, and what is refused with its place."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from ipulse_core.equations.neuron import InvalidEquations
from ipulse_core.equations.step_program import forward_program
from tests.equations import lif, neuron_document, neuron_of

U = {"name": "u", "update": "0.9 * u + I"}


def test_states_without_an_equation_keep_their_value() -> None:
    neuron = neuron_of(neuron_document([U, {"name": "a", "reset": "a + r"}], "u - a"))
    program = forward_program(neuron)
    inputs = [each.name for each in program.instructions if each.operation == "input"]
    assert sorted(inputs) == ["I", "a", "u"]


def test_new_values_are_computed_before_they_are_read() -> None:
    states = [
        {"name": "u", "update": "u + new(i)"},
        {"name": "i", "update": "0.5 * i + I"},
    ]
    assert forward_program(neuron_of(neuron_document(states, "u - 1"))).outputs


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (neuron_document([U], "u - thta"), "/spike"),
        (neuron_document([U], "u - r"), "/spike"),
        (neuron_document([{**U, "update": "u + r"}], "u"), "/states/0/update"),
        (neuron_document([{**U, "reset": "u *"}], "u"), "/states/0/reset"),
        (neuron_document([U, {"name": "a"}], "u - a"), "/states/1"),
        (neuron_document([U, {**U}], "u"), "/states/1/name"),
        (neuron_document([{**U, "name": "I"}], "1"), "/states/0/name"),
        (neuron_document([{**U, "name": "exp"}], "1"), "/states/0/name"),
        (neuron_document([{**U, "update": "0.9 * u"}], "u"), "/states"),
        (neuron_document([U], "u", [{"name": "p", "value": 1.0}]), "/parameters/0/name"),
        (
            neuron_document([U], "u - p", [{"name": "p", "value": 2.0, "maximum": 1.0}]),
            "/parameters/0/value",
        ),
        (
            neuron_document(
                [U], "u - p", [{"name": "p", "value": 2.0, "minimum": 3.0, "maximum": 1.0}]
            ),
            "/parameters/0/minimum",
        ),
        (
            neuron_document([U], "u - p", [{"name": "p", "value": (1.0, 2.0), "per": "layer"}]),
            "/parameters/0/value",
        ),
        (
            neuron_document(
                [
                    {"name": "u", "update": "new(v) + I"},
                    {"name": "v", "update": "new(u) + I"},
                ],
                "u",
            ),
            "/states/0/update",
        ),
        (neuron_document([U], f"u{' ' * 4090}"), ""),  # too many characters together
        (
            neuron_document(
                [{**U, "name": f"u{n}", "update": f"u{n} {'+ 1' * 9} + I"} for n in range(8)], "u0"
            ),
            "",
        ),
    ],
)
def test_mistakes_have_a_place(document: Dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidEquations) as caught:
        neuron_of(document)
    assert pointer in [problem.pointer for problem in caught.value.problems]


def test_equal_descriptions_are_equal_neurons() -> None:
    assert neuron_of(lif()) == neuron_of(lif())
    assert hash(neuron_of(lif())) == hash(neuron_of(lif()))
    assert neuron_of(lif()) != neuron_of(lif(reset="subtract"))
