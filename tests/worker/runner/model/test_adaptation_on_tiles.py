"""Jobs with adaptive thresholds and truncated gradients on emulated tiles: as on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.equations import lif
from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = pytest.mark.usefixtures("threads_are_set")

ADAPTIVE: Dict[str, Any] = {
    "neurons": 10,
    "recurrent": True,
    "second_threshold": 0.3,
    "adaptation": {"strength": 0.4, "decay": 0.9},
}


def assert_equal_training(directory: Path, network: Dict[str, Any], **training: Any) -> None:
    """Train for an epoch on the CPU and on tiles, and compare weights and loss."""
    jobs = []
    for device in ({"kind": "cpu"}, {"kind": "emulator", "tiles": 16}):
        more = dict(network)
        document = spec(more.pop("layers"), epochs=1, network=more, device=device)
        document["data"] = {"kind": "digits", "samples": 64, "steps": 6}
        document["training"].update(training)
        jobs.append(attempt(directory / device["kind"], document))
    expected, found = (weights(job) for job in jobs)
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4, err_msg=name)
    wanted, loss = (job.done["summary"]["test_loss"] for job in jobs)
    assert loss == pytest.approx(wanted, rel=1e-4)


@pytest.mark.sample(1)
@pytest.mark.parametrize("reset", ["zero", "subtract"])
def test_tiles_train_as_the_cpu_does(tmp_path: Path, reset: str) -> None:
    network = {
        "layers": [ADAPTIVE, {"neurons": 8, "capacity": 4, "adaptation": {"detach": True}}],
        "trainable": ["adaptation_strength", "adaptation_decay", "threshold"],
        "reset": reset,
    }
    assert_equal_training(tmp_path, network)


@pytest.mark.verify
def test_truncated_gradients(tmp_path: Path) -> None:
    equations = {"kind": "equations", "neurons": 6, "neuron": lif(gain=4.0)}
    for number, layers in enumerate(([ADAPTIVE, {"neurons": 8}], [{"neurons": 8}, equations])):
        directory = tmp_path / str(number)
        directory.mkdir()
        assert_equal_training(directory, {"layers": layers}, truncate_steps=2)
