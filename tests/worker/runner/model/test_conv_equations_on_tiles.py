"""Jobs with convolutions of neurons with equations on emulated tiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_conv_equations import ADAPTIVE, DENSE, OWN, POOLED
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = [pytest.mark.usefixtures("threads_are_set"), pytest.mark.verify]

TILES = {"kind": "emulator", "tiles": 16}
SHORT = {"kind": "digits", "samples": 64, "steps": 8}
SUMMED = {**OWN, "groups": 1, "strides": 2, "gate": -0.5, "pool": {"kind": "sum", "pool_size": 2}}
STACKS: Dict[str, List[Dict[str, Any]]] = {
    "before LIF layers": [POOLED, {"neurons": 10}],
    "before the readout": [{**OWN, "gate": -0.5}],
    "before dense equations": [OWN, SUMMED, DENSE],
}


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("name", STACKS)
def test_tiles_train_as_the_cpu_does(tmp_path: Path, name: str, delay: int) -> None:
    changes = {"data": SHORT, "epochs": 1, "network": {"delay": delay}}
    on_cpu = weights(attempt(tmp_path / "cpu", spec(STACKS[name], **changes)))
    ended = attempt(tmp_path / "tiles", spec(STACKS[name], **changes, device=TILES))
    on_tiles = weights(ended)
    for key, array in on_cpu.items():
        assert on_tiles[key].shape == array.shape
        np.testing.assert_allclose(on_tiles[key], array, rtol=0, atol=1e-3, err_msg=key)
    profile = json.loads((ended.directory / "poplar_profile.json").read_text("utf-8"))
    ran = {run["name"] for run in profile["execution"]["runs"]}
    for number, layer in enumerate(STACKS[name], start=1):
        if "neuron" in layer:
            scope = f"layer{number}/{ADAPTIVE['name']}"
            assert {f"{scope}/forward", f"backward/{scope}"} <= ran
    page = (ended.directory / "report.html").read_text("utf-8")
    assert "Layer 1 has neurons adaptive" in page
