"""A job that continues another one ends as one longer training, bit for bit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Dict, Optional

import numpy as np
import pytest

from .conftest import SPEC, Start
from .driven_runner import DrivenRunner


def spec_of(epochs: int, **training: Any) -> Dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    spec["training"].update(epochs=epochs, **training)
    return spec


def run(
    start_runner: Start, work: Path, spec: Dict[str, Any], parent: Optional[Path] = None
) -> DrivenRunner:
    runner = start_runner()
    more: Dict[str, Any] = {}
    if parent is not None:
        more = {"start_from": str(parent / "checkpoint.npz"), "start_mode": "continue"}
    runner.assign(work, spec, **more)
    assert runner.finish() == 0, runner.printed()
    assert runner.events[-1]["reason"] == "completed", runner.events[-1]
    return runner


def weights(work: Path) -> Dict[str, bytes]:
    with np.load(str(work / "weights.npz")) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


@pytest.mark.old_python
def test_n21_k_and_m_epochs_are_k_plus_m(start_runner: Start, tmp_path: Path) -> None:
    run(start_runner, tmp_path / "whole", spec_of(5))
    run(start_runner, tmp_path / "first", spec_of(2))
    second = run(start_runner, tmp_path / "second", spec_of(5), parent=tmp_path / "first")
    assert weights(tmp_path / "second") == weights(tmp_path / "whole")
    whole, continued = (
        (tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "second")
    )
    assert continued == whole, "the history is that of both"
    assert second.kinds("metric")[0]["epoch"] == 3
    assert second.events[-1]["summary"]["epochs"] == 5


def test_a_training_that_stopped_early_waits_anew(start_runner: Start, tmp_path: Path) -> None:
    stopping = {"metric": "test_accuracy", "patience": 1, "min_delta": 1.0}
    first = run(start_runner, tmp_path / "a", spec_of(9, early_stopping=stopping))
    assert first.events[-1]["summary"]["epochs"] == 2
    second = run(
        start_runner, tmp_path / "b", spec_of(20, early_stopping=stopping), parent=tmp_path / "a"
    )
    assert second.events[-1]["summary"]["epochs"] == 3


@pytest.mark.parametrize("content", [b"", b"no checkpoint"])
def test_a_file_that_is_none_fails_with_a_hint(
    start_runner: Start, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "checkpoint.npz"
    file.write_bytes(content)
    runner = start_runner()
    runner.assign(tmp_path / "w", spec_of(3), start_from=str(file), start_mode="continue")
    assert runner.finish() == 0
    done = runner.events[-1]
    assert done["reason"] == "runner_error"
    assert "cannot be read" in done["message"]
