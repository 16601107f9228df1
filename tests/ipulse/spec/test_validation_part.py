"""The validation part in specs and sweeps: what chooses, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse.sweeps import parse_sweep
from ipulse_core.errors import InvalidInput


def spec(validation: float = 0.0, **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"kind": "digits", **({"validation": validation} if validation else {})},
        "network": {"layers": [{"neurons": 8}]},
        **changes,
    }


def stopping(**fields: Any) -> dict[str, Any]:
    return {"training": {"early_stopping": fields}}


def sweep(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    parameters = {"/training/batch_size": {"values": [32, 64]}}
    return {"sweep": "a", "spec": document, "parameters": parameters, **changes}


def place_of(raised: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return [problem.pointer for problem in raised.value.problems]


@pytest.mark.parametrize(("validation", "metric"), [(0.0, "test_loss"), (0.1, "validation_loss")])
def test_early_stopping_goes_by_it(validation: float, metric: str) -> None:
    parsed = parse_spec(spec(validation, **stopping(patience=3))).training.early_stopping
    assert parsed is not None
    assert parsed.metric == metric


@pytest.mark.parametrize(
    ("validation", "metric"), [(0.1, "test_accuracy"), (0.0, "validation_accuracy")]
)
def test_early_stopping_by_the_wrong_part_is_refused(validation: float, metric: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_spec(spec(validation, **stopping(metric=metric)))
    assert place_of(raised) == ["/training/early_stopping/metric"]


@pytest.mark.parametrize("fraction", [-0.1, 0.6, 1.0, True, "0.1", None])
def test_a_bad_fraction_has_its_place(fraction: Any) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_spec({**spec(), "data": {"kind": "digits", "validation": fraction}})
    assert place_of(raised) == ["/data/validation"]


@pytest.mark.parametrize("kind", ["yin_yang", "ssc"])
def test_two_validation_parts_are_refused(kind: str) -> None:
    data = {"kind": kind, "judged_on": "validation", "validation": 0.1}
    with pytest.raises(InvalidInput) as raised:
        parse_spec({**spec(), "data": data})
    assert place_of(raised) == ["/data/validation"]


def test_sweeps_compare_by_it() -> None:
    assert parse_sweep(sweep(spec())).objective.metric == "test_accuracy"
    assert parse_sweep(sweep(spec())).objective.goal == "maximize"
    loss = parse_sweep(sweep(spec(), objective={"metric": "test_loss"})).objective
    assert loss.goal == "minimize"
    minimized = sweep(spec(0.1), objective={"goal": "minimize"})
    assert parse_sweep(minimized).objective.metric == "validation_accuracy"
    varied = {"/data/validation": {"values": [0.1, 0.2]}}
    assert parse_sweep(sweep(spec(), parameters=varied)).objective.metric == "validation_accuracy"


def test_a_sweep_by_test_samples_is_refused() -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_sweep(sweep(spec(0.1), objective={"metric": "test_accuracy"}))
    assert place_of(raised) == ["/objective/metric"]
