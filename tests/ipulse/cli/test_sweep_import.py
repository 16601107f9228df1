"""sweep import: sweeps of W&B and Determined."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ipulse.sweeps.file import read_sweep
from tests.ipulse.cli.conftest import Run

RATE, NEURONS = "/training/optimizer/learning_rate", "/network/layers/0/neurons"

WANDB = """
program: train.py
project: spikes
method: bayes
metric: {name: val/accuracy, goal: maximize, target: 0.97}
run_cap: 30
parameters:
  learning_rate: {distribution: log_uniform_values, min: 1e-4, max: 0.1}
  network.layers[0].neurons: {min: 32, max: 256, distribution: q_uniform, q: 32}
  optimizer:
    parameters:
      beta_1: {min: 0.5, max: 0.99}
  epochs: {value: 7}
  batch_size: {values: [16, 32], probabilities: [0.9, 0.1]}
  dropout_of_theirs: {distribution: beta, a: 1, b: 2}
early_terminate: {type: hyperband, max_iter: 27, s: 2}
"""

DETERMINED = """
name: spikes
entrypoint: model:Trial
hyperparameters:
  global_batch_size: 32
  learning_rate: {type: log, minval: -4, maxval: -1, base: 10}
  epochs: {type: const, val: 5}
searcher: {name: adaptive_asha, metric: validation_loss, max_trials: 16, divisor: 3,
  max_concurrent_trials: 8, max_length: {batches: 100}}
"""


def imported(offline: Run, text: str, spec_file: Path, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "theirs.yaml"
    file.write_text(text)
    ran = offline("sweep", "import", str(file), "--spec", str(spec_file), "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    return found


def test_wandb(offline: Run, spec_file: Path, tmp_path: Path) -> None:
    found = imported(offline, WANDB, spec_file, tmp_path)
    sweep = found["sweep"]
    assert (sweep["method"], sweep["trials"]) == ("tpe", 30)
    assert sweep["objective"] == {"metric": "validation_accuracy", "goal": "maximize"}
    assert sweep["limits"] == {"target": 0.97}
    assert sweep["stopping"] == {"kind": "asha", "min_epochs": 3, "factor": 3}
    assert sweep["spec"]["training"]["epochs"] == 7
    assert sweep["parameters"] == {
        RATE: {"log_uniform": [1e-4, 0.1]},
        NEURONS: {"int_uniform": [32, 256], "step": 32},
        "/training/optimizer/beta_1": {"uniform": [0.5, 0.99]},
        "/training/batch_size": {"values": [16, 32]},
    }
    for word in ("bayes", "probabilities", "dropout_of_theirs", "hyperband"):
        assert any(word in remark for remark in found["remarks"]), word


def test_determined(offline: Run, spec_file: Path, tmp_path: Path) -> None:
    found = imported(offline, DETERMINED, spec_file, tmp_path)
    sweep = found["sweep"]
    assert (sweep["method"], sweep["trials"], sweep["parallel"]) == ("random", 16, 8)
    assert sweep["stopping"] == {"kind": "asha", "factor": 3}
    assert sweep["spec"]["training"]["epochs"] == 5
    [low, high] = sweep["parameters"][RATE]["log_uniform"]
    assert math.isclose(low, 1e-4)
    assert math.isclose(high, 0.1)
    assert any("max_length" in remark for remark in found["remarks"])


def test_grids(offline: Run, spec_file: Path, tmp_path: Path) -> None:
    wandb = "method: grid\nparameters: {epochs: {min: 1, max: 3}, learning_rate: {values: [0.1]}}"
    sweep = imported(offline, wandb, spec_file, tmp_path)["sweep"]
    assert sweep["parameters"]["/training/epochs"] == {"values": [1, 2, 3]}
    theirs = {
        "hyperparameters": {"epochs": {"type": "int", "minval": 1, "maxval": 9, "count": 3}},
        "searcher": {"name": "grid"},
    }
    sweep = imported(offline, json.dumps(theirs), spec_file, tmp_path)["sweep"]
    assert sweep["parameters"]["/training/epochs"] == {"values": [1, 5, 9]}


def test_the_file_that_is_written_is_a_sweep(offline: Run, spec_file: Path, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.yaml", tmp_path / "ours.yaml"
    theirs.write_text(WANDB)
    ran = offline("sweep", "import", str(theirs), "--spec", str(spec_file), "--to", str(ours))
    assert ran.code == 0
    config = read_sweep(ours, [], [], None)
    assert config.trials == 30
    assert set(config.parameters) >= {RATE, NEURONS}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "colour: red",
        "parameters: 3",
        "parameters: {learning_rate: {min: 5, max: 1}}",
        "parameters: {learning_rate: {distribution: log_uniform, min: 1, max: 1e308}}",
        "parameters: {epochs: {values: []}}",
        "{method: {a: [b]}, parameters: {seed: {values: [1, 1]}}}",
        "{hyperparameters: {epochs: {type: log, minval: 300, maxval: 300, base: 1e300}},"
        " searcher: {name: random, max_trials: 3}}",
        "{hyperparameters: [], searcher: []}",
    ],
)
def test_what_is_no_sweep_is_an_error(
    offline: Run, spec_file: Path, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "theirs.yaml"
    file.write_text(text)
    ran = offline("sweep", "import", str(file), "--spec", str(spec_file))
    assert ran.code == 2
    assert ran.out == ""
