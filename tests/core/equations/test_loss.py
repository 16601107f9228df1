"""Losses as equations: what is read, what is refused, and where the mistake is."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_core.equations.neuron import InvalidEquations
from ipulse_core.equations.parser import parse
from tests.losses import cross_entropy, loss_document, loss_of, margin

SUM = "sum(label * last(membrane))"


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        ("sum(label * last(membrane))", "mean_over_time(membrane)"),
        ("sum(label * spike_count)", "spike_count"),
        ("sum(label * first_spike)", "-first_spike"),
        ("mean(target - last(membrane))", "mean_over_time(membrane)"),
        ("mean(last(step_target - membrane))", "membrane"),
    ],
)
def test_predictions_without_an_equation(loss: str, wanted: str) -> None:
    found = loss_of(loss_document(loss)).prediction
    names = ("membrane", "spike_count", "first_spike")
    assert found == parse(wanted, names, functions=("mean_over_time",))


@pytest.mark.parametrize(
    ("changes", "pointer", "hint"),
    [
        ({"loss": "sum(labl * last(membrane))"}, "/loss", "did you mean label?"),
        ({"loss": "summ(label * last(membrane))"}, "/loss", "did you mean sum?"),
        ({"loss": "max(label * last(membrane))"}, "/loss", "largest(a)"),
        ({"loss": "sum(label * sum(membrane))"}, "/loss", "time step"),
        ({"loss": "label * last(membrane)"}, "/loss", "sum"),
        ({"loss": "sum(label * membrane)"}, "/loss", "mean_over_time"),
        ({"loss": "sum(last(membrane)) + sum(1)"}, "/loss", "column 23"),
        ({"loss": "last(steps) + sum(label * last(membrane))"}, "/loss", "time step"),
        ({"loss": "new(membrane)"}, "/loss", "new"),
        ({"loss": "sum(label)"}, "/loss", "membrane"),
        ({"loss": "sum(last(membrane))"}, "/loss", "label"),
        ({"loss": "sum((label - target) * last(membrane))"}, "/loss", "label and target"),
        ({"loss": "sum(label * spike_count) + sum(last(membrane))"}, "/loss", "leaky"),
        ({"loss": "sum(target * spike_count)"}, "/loss", "leaky"),
        ({"loss": f"{SUM} + {'+'.join('1' * 99)}"}, "/loss", "nested"),
        ({"loss": f"{SUM} + v", "values": [("v", "sum(1")]}, "/values/0/value", "column"),
        ({"loss": f"{SUM} + v", "values": [("v", "w"), ("w", "1")]}, "/values/0/value", "'w'"),
        ({"loss": SUM, "values": [("v", "1")]}, "/values/0/name", "remove"),
        ({"loss": SUM, "values": [("label", "1")]}, "/values/0/name", "meaning"),
        ({"loss": f"{SUM} + v", "values": [("v", "1"), ("v", "1")]}, "/values/1/name", "differ"),
        ({"loss": SUM, "parameters": [{"name": "a", "value": 1}]}, "/parameters/0/name", "remove"),
        ({"loss": SUM, "prediction": "membrane"}, "/prediction", "each class"),
        ({"loss": SUM, "prediction": "sum(last(membrane))"}, "/prediction", "each class"),
    ],
)
def test_mistakes_have_a_place(changes: Any, pointer: str, hint: str) -> None:
    with pytest.raises(InvalidEquations) as caught:
        loss_of(loss_document(**changes))
    assert pointer in [problem.pointer for problem in caught.value.problems]
    assert any(hint in problem.detail for problem in caught.value.problems), caught.value


def test_a_missing_axis_has_a_column() -> None:
    with pytest.raises(InvalidEquations, match="column 17: sum needs a value of each class"):
        loss_of(loss_document("sum(label) + 1 +sum(last(t))"))


def test_known_losses_are_read() -> None:
    assert loss_of(cross_entropy()).reads == {"membrane", "label"}
    assert loss_of(margin()).parameters == (("width", 1.0),)
