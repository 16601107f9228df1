"""Proposals of the tree-structured Parzen estimator."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ipulse.sweeps import SweepConfig, parse_sweep
from ipulse_core.errors import InvalidInput
from ipulse_service.sweeps import tpe
from ipulse_service.sweeps.rows import TrialRow, TrialState

RATE = "/training/optimizer/learning_rate"
NEURONS = "/network/layers/0/neurons"
CAPACITY = "/network/layers/0/capacity"


def config(**changes: Any) -> SweepConfig:
    parameters = {
        RATE: {"log_uniform": [0.0001, 0.1]},
        NEURONS: {"int_uniform": [8, 64], "step": 8},
        CAPACITY: {"values": [None, 4, {"grow": 2}]},
    }
    document = {"sweep": "a", "spec": {}, "parameters": parameters, "method": "tpe", "trials": 50}
    return parse_sweep({**document, **changes})


def trial(number: int, parameters: dict[str, Any], value: float | None, state: str) -> TrialRow:
    text = json.dumps(parameters)
    return TrialRow(number, 1, number, text, TrialState(state), "", value, None, 0, 1)


def search(definition: SweepConfig, count: int) -> list[TrialRow]:
    """The best learning rate is 0.01."""
    history: list[TrialRow] = []
    for number in range(1, count + 1):
        point = tpe.propose(definition, number, history)
        value = -abs(math.log10(point[RATE]) + 2)
        history.append(trial(number, point, value, "succeeded"))
    return history


def test_n17_the_same_history_gives_the_same_proposal() -> None:
    history = search(config(), 14)
    again = [tpe.propose(config(), index + 1, history[:index]) for index in range(14)]
    assert [json.dumps(point) for point in again] == [one.parameters for one in history]
    assert again != [json.loads(one.parameters) for one in search(config(seed=2), 14)]


@pytest.mark.parametrize(("state", "value"), [("running", None), ("pruned", -9.0)])
def test_trials_that_run_or_were_pruned_count(state: str, value: float | None) -> None:
    history = search(config(), 14)
    point = tpe.propose(config(), 15, history)
    others = [trial(number, point, value, state) for number in range(15, 20)]
    assert tpe.propose(config(), 15, [*history, *others]) != point


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_trials_without_a_value_do_not_count(state: str) -> None:
    history = search(config(), 14)
    point = tpe.propose(config(), 15, history)
    others = [trial(number, point, None, state) for number in range(15, 20)]
    assert tpe.propose(config(), 15, [*history, *others]) == point


def test_every_value_is_one_of_the_definition() -> None:
    for one in search(config(seed=3), 20):
        point = json.loads(one.parameters)
        assert 0.0001 <= point[RATE] <= 0.1
        assert point[NEURONS] in range(8, 65, 8)
        assert point[CAPACITY] in (None, 4, {"grow": 2})


def test_it_comes_near_the_best() -> None:
    """More of the last ten trials of 40 are near the best than of the first ten."""
    near = [abs(one.value or 0) < 0.5 for one in search(config(), 40)]
    assert sum(near[-10:]) > sum(near[:10])


def test_a_distribution_without_bounds_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        config(parameters={RATE: {"normal": [0.1, 0.01]}})
    (problem,) = refused.value.problems
    assert problem.pointer == "/parameters/~1training~1optimizer~1learning_rate"
