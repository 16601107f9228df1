"""Losses of a regression in specs and sweeps: what they need, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse.sweeps import parse_sweep
from ipulse_core.errors import InvalidSpec
from ipulse_core.spec.derived_values import class_count

FILE = {"kind": "npz", "name": "mine", "channels": 4, "steps": 10}


def spec(data: dict[str, Any], loss: str, **changes: Any) -> dict[str, Any]:
    training = {"loss": loss, **changes.pop("training", {})}
    network = {"layers": [{"neurons": 8}], **changes}
    return {"version": 1, "data": data, "network": network, "training": training}


@pytest.mark.parametrize("loss", ["step_mse", "mean_membrane_mse", "last_membrane_mse"])
def test_outputs_are_the_readouts_neurons(loss: str) -> None:
    parsed = parse_spec(spec({**FILE, "outputs": 3}, loss))
    assert class_count(parsed.data) == 3
    uploaded = parse_spec(spec({"kind": "npz", "dataset": "mine"}, loss))
    assert class_count(uploaded.data) == 0  # known when it is submitted


@pytest.mark.parametrize(
    ("pointer", "document"),
    [
        ("/training/loss", spec({"kind": "digits"}, "step_mse")),
        ("/data/classes", spec(FILE, "step_mse")),
        ("/data/classes", spec({**FILE, "classes": 3}, "step_mse")),
        ("/data/outputs", spec({**FILE, "classes": 3, "outputs": 3}, "step_cross_entropy")),
        ("/training/loss", spec({**FILE, "outputs": 3}, "step_cross_entropy")),
        (
            "/training/loss",
            spec({**FILE, "outputs": 3}, "step_mse", readout={"kind": "spiking"}),
        ),
        (
            "/training/early_stopping/metric",
            spec(
                {**FILE, "outputs": 3},
                "step_mse",
                training={"early_stopping": {"metric": "test_accuracy"}},
            ),
        ),
        (
            "/training/early_stopping/metric",
            spec(
                {"kind": "digits"},
                "step_cross_entropy",
                training={"early_stopping": {"metric": "test_mae"}},
            ),
        ),
    ],
)
def test_what_does_not_fit_is_named(pointer: str, document: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(document)
    assert pointer in [problem.pointer for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("field", "bound"),
    [("low", {"kind": "membrane", "low": 1.0, "high": 0.5}), ("readout", {"kind": "upper"})],
)
def test_bounds_that_cannot_hold_are_refused(field: str, bound: dict[str, Any]) -> None:
    training = {"regularisers": [{"readout": True, **bound}]}
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(spec({"kind": "digits"}, "step_cross_entropy", training=training))
    pointers = [problem.pointer for problem in refused.value.problems]
    assert pointers == [f"/training/regularisers/0/{field}"]


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_sweeps_minimize_the_absolute_error(validation: float) -> None:
    document = spec({**FILE, "outputs": 3, "validation": validation}, "step_mse")
    sweep = {
        "sweep": "a",
        "spec": document,
        "parameters": {"/training/batch_size": {"values": [32, 64]}},
    }
    objective = parse_sweep(sweep).objective
    part = "validation" if validation else "test"
    assert (objective.metric, objective.goal) == (f"{part}_mae", "minimize")
    own = parse_sweep({**sweep, "objective": {"metric": "loss", "goal": "maximize"}}).objective
    assert (own.metric, own.goal) == ("loss", "maximize")
