"""Trainings on an IPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict

import numpy as np
import pytest

from ipulse_ops.build_cache import poplar_executables
from tests.worker.runner.attempts import FinishedAttempt
from tests.worker.runner.emulated import ipu_spec

if TYPE_CHECKING:
    pass


def keep_apart(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a test's own directory keep executables and records; what g++ built stays shared."""
    monkeypatch.setattr(poplar_executables, "cache_directory", lambda: directory / "cache")
    monkeypatch.setenv("IPULSE_DEVICES", str(directory / "devices"))


def on(kind: str, **options: Any) -> Dict[str, Any]:
    """Three steps an epoch, and slots that are drawn: a seed goes to the device with each step."""
    spec = ipu_spec({"kind": kind, **options})
    layers = [{"neurons": 12, "second_threshold": 0.5, "capacity": 6, "policy": "cyclic"}]
    return {**spec, "network": {"layers": [*layers, {"neurons": 8, "recurrent": True}]}}


def weights(result: FinishedAttempt) -> Dict[str, np.ndarray]:
    return dict(np.load(result.directory / "weights.npz"))
