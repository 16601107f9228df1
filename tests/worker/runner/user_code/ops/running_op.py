"""An op of a test's own, running in its process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List

import numpy as np
import pytest

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from tests.worker.runner.specs import spec_from
from tests.worker.runner.user_code.ops.packages import layer, packed, project

SENDERS, NEURONS = 8, 4


def described(reference: str, device: Dict[str, Any]) -> Any:
    return spec_from(
        {
            "version": 1,
            "data": {"kind": "digits", "steps": 5},
            "network": {
                "layers": [{"neurons": SENDERS}, layer(reference, NEURONS), {"neurons": 4}]
            },
            "training": {"batch_size": 3},
            "device": device,
        }
    )


@contextmanager
def running(
    folder: Path, kind: str = "cpu", sandbox: str = "", **files: Any
) -> Iterator[CustomOps]:
    """Start the op of the template with other files; without a kernel, it runs the reference."""
    fields = files.pop("manifest", {"kernel": None})
    package = packed(project(folder / "op-project", files, **fields))
    lines: List[LogEvent] = []
    (folder / "work").mkdir()
    device = {"kind": kind, **({"tiles": 4} if kind == "emulator" else {})}
    ops = CustomOps(
        described(package.reference, device),
        {package.digest: str(package.path)},
        folder / "work",
        {"IPULSE_SANDBOX": sandbox, **os.environ} if sandbox else {},
        lines.append,
        lambda: None,
    )
    try:
        ops.start(lambda build: None)
        yield ops
    finally:
        ops.close()


def spikes() -> np.ndarray:
    random = np.random.RandomState(3)
    made: np.ndarray = (random.uniform(size=(5, 3, SENDERS)) < 0.4).astype(np.float32)
    return made


def gain() -> np.ndarray:
    made: np.ndarray = np.random.RandomState(5).uniform(0.2, 1.0, SENDERS).astype(np.float32)
    return made


def expected(entering: np.ndarray, gradient: np.ndarray) -> List[np.ndarray]:
    """Return output and gradients of the template's op, in float64."""
    weights = gain().astype(np.float64)
    above = (entering * weights).reshape(5, 3, NEURONS, 2).sum(axis=-1) - 0.5
    by_product = np.repeat(gradient / (1 + np.abs(above)) ** 2, 2, axis=-1)
    by_weights = (by_product * entering).sum(axis=(0, 1))
    return [(above >= 0).astype(np.float64), by_product * weights, by_weights]


def limited(monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
    """Give ops other limits."""
    changed: SandboxLimits = budget.OP._replace(**limits)
    monkeypatch.setattr(budget, "OP", changed)
