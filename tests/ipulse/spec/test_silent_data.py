"""Specs whose data cannot have a spike within the time steps."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import ExperimentSpec, parse_spec
from ipulse_core.errors import InvalidSpec

NETWORK = {"layers": [{"neurons": 4}]}


def spec(**data: Any) -> ExperimentSpec:
    return parse_spec({"version": 1, "data": {"kind": "digits", **data}, "network": NETWORK})


@pytest.mark.parametrize(
    "data",
    [
        {"steps": 4},
        {"steps": 40, "step_ms": 0.01},
        {"steps": 40, "encoding": {"kind": "log_latency", "tau_eff_ms": 1e6}},
        {"steps": 40, "encoding": {"kind": "log_latency", "threshold": 0.999}},
        {"kind": "npz", "name": "mine", "channels": 3, "classes": 2, "steps": 4}
        | {"encoding": {"kind": "log_latency"}},
    ],
)
def test_too_few_steps_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec) as refused:
        spec(**data)
    assert [problem.pointer for problem in refused.value.problems] == ["/data/steps"]


@pytest.mark.parametrize(
    "data",
    [
        {"steps": 5},
        {"steps": 1, "step_ms": 5.0},
        {"steps": 1, "encoding": {"kind": "linear_latency"}},
        {"steps": 1, "encoding": {"kind": "rate"}},
        {"steps": 1, "encoding": {"kind": "population"}},
        {"kind": "npz", "name": "mine", "channels": 3, "classes": 2, "steps": 4, "encoding": None},
    ],
)
def test_steps_with_a_spike_are_accepted(data: dict[str, Any]) -> None:
    spec(**data)
