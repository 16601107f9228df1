"""Convolutions of LIF neurons on the device `ipu`, on a stand-in for Graphcore's TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.ipu_fake import State
from tests.worker.runner.attempts import attempt
from tests.worker.runner.devices.ipu_steps import weights
from tests.worker.runner.emulated import ipu_spec

POOLED = {
    "kind": "conv2d",
    "filters": 3,
    "kernel_size": 3,
    "bias": True,
    "second_threshold": 0.3,
    "pool": {"kind": "average"},
}
DATA = {"kind": "digits", "samples": 64, "steps": 6}
TRAINING = {"epochs": 1, "batch_size": 16}
NARROW = {"kind": "conv2d", "filters": 4, "kernel_size": [2, 1]}


@pytest.mark.verify
@pytest.mark.parametrize("delay", [0, 1])
def test_trains_as_a_cpu_does(device: State, tmp_path: Path, delay: int) -> None:
    """Several steps a program, which XLA takes as a whole."""
    layers = [POOLED, NARROW, {"neurons": 6, "capacity": 4}]
    network: Dict[str, Any] = {"layers": layers, "delay": delay, "reset": "subtract"}
    on_ipu = {"kind": "ipu", "steps_per_execution": 2}
    found, expected = (
        attempt(
            tmp_path / each["kind"], ipu_spec(each, network=network, data=DATA, training=TRAINING)
        )
        for each in (on_ipu, {"kind": "cpu", "threads": 1})
    )
    assert found.done["reason"] == "completed", found.done
    for name, on_cpu in weights(expected).items():
        np.testing.assert_allclose(weights(found)[name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name)
    for figure in ("loss", "accuracy", "test_loss", "test_accuracy", "steps"):
        ours, theirs = found.done["summary"][figure], expected.done["summary"][figure]
        assert ours == pytest.approx(theirs, rel=1e-4), figure


def test_a_readout_may_follow_directly(device: State, tmp_path: Path) -> None:
    device.checks_with_xla = False
    network = {"layers": [POOLED]}
    document = ipu_spec({"kind": "ipu"}, network=network, data=DATA, training=TRAINING)
    result = attempt(tmp_path / "a", document)
    assert result.done["reason"] == "completed", result.done
    assert np.isfinite(weights(result)["layer_1"]).all()
