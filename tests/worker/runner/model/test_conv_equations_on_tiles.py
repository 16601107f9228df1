"""Jobs with convolutions of neurons with equations on emulated tiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from tests.equations import neuron_document
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
    assert "layers[0] has neurons adaptive" in page


def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    layers = [{**POOLED, "gate": -0.5}, {"neurons": 6}]
    changes = {"data": SHORT, "device": TILES}
    whole = weights(attempt(tmp_path / "whole", spec(layers, epochs=2, **changes)))
    first = attempt(tmp_path / "first", spec(layers, epochs=1, **changes))
    second = attempt(
        tmp_path / "second",
        spec(layers, epochs=2, **changes),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    for name, array in weights(second).items():
        assert array.tobytes() == whole[name].tobytes(), name
    lines = (first.directory / "metrics.jsonl").read_text("utf-8").splitlines()
    assert all(0 < json.loads(line)["gradient_set/1"] < 1 for line in lines)


def test_lists_that_no_tile_holds_are_named(tmp_path: Path) -> None:
    layers = [{**POOLED, "filters": 64}, {"neurons": 6}]
    data = {"kind": "digits", "samples": 64, "steps": 60}
    ended = attempt(tmp_path / "a", spec(layers, epochs=1, data=data, device=TILES))
    assert ended.done["reason"] == "device_out_of_memory"
    assert "data.steps" in ended.done["message"]
    assert "device.ipus" not in ended.done["message"]  # the network is on one


def test_what_diverges_is_named(tmp_path: Path) -> None:
    document = neuron_document(
        [{"name": "u", "update": "0.9 * u + I", "reset": "exp(200 * r) * u / (2 - r * r)"}],
        "u - 1",
        name="explosive",
    )
    layer = {"kind": "conv2d", "filters": 2, "kernel_size": 3, "neuron": document}
    ended = attempt(tmp_path / "a", spec([layer], epochs=1, data=SHORT, device=TILES))
    assert ended.done["reason"] == "diverged"
    assert "layer 1 (neuron explosive)" in ended.done["message"]


def test_a_job_that_only_compiles_says_whether_the_neurons_fit(tmp_path: Path) -> None:
    device = {**TILES, "connection_type": "NEVER"}
    found = []
    allowed = {**device, "engine_options": {"debug.allowOutOfMemory": "true"}}
    for number, (filters, asked) in enumerate([(2, device), (128, device), (128, allowed)]):
        layers = [{**OWN, "filters": filters, "padding": "same"}, DENSE]
        work = tmp_path / str(number)
        ended = attempt(work, spec(layers, epochs=1, data=SHORT, device=asked))
        found.append(ended.done["reason"])
    assert found == ["completed", "device_out_of_memory", "completed"]
