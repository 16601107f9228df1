"""Jobs with adaptive thresholds on emulated tiles: as on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = pytest.mark.usefixtures("threads_are_set")

ADAPTIVE: Dict[str, Any] = {
    "neurons": 10,
    "recurrent": True,
    "second_threshold": 0.3,
    "adaptation": {"strength": 0.4, "decay": 0.9},
}


def trained(directory: Path, network: Dict[str, Any], device: Dict[str, Any]) -> Any:
    more = dict(network)
    document = {"epochs": 1, "data": {"kind": "digits", "samples": 64, "steps": 6}}
    return attempt(
        directory, spec(more.pop("layers"), **{**document, "network": more, "device": device})
    )


@pytest.mark.parametrize("reset", ["zero", "subtract"])
@pytest.mark.same_on_every_python
def test_tiles_train_as_the_cpu_does(tmp_path: Path, reset: str) -> None:
    network = {
        "layers": [ADAPTIVE, {"neurons": 8, "capacity": 4, "adaptation": {"detach": True}}],
        "trainable": ["adaptation_strength", "adaptation_decay", "threshold"],
        "reset": reset,
    }
    on_cpu = trained(tmp_path / "cpu", network, {"kind": "cpu"})
    on_tiles = trained(tmp_path / "tiles", network, {"kind": "emulator", "tiles": 16})
    found, expected = weights(on_tiles), weights(on_cpu)
    assert sorted(found) == sorted(expected)
    assert any("adaptation" in name for name in expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4, err_msg=name)
    wanted = on_cpu.done["summary"]["test_loss"]
    assert on_tiles.done["summary"]["test_loss"] == pytest.approx(wanted, rel=1e-4)
