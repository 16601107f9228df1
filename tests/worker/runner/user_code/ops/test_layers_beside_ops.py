"""Layers with dropout or delays in networks with custom ops."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_core.pva.layers import layer_of
from ipulse_core.pva.report import open_report
from tests.worker.runner.user_code.ops.packages import layer, packed, project
from tests.worker.runner.user_code.ops.test_training import trained, weights

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("threads_are_set"),
]


OP = "an op of six neurons"
DROPPING = {"neurons": 12, "dropout": 0.2}
LATE = {"neurons": 12, "delays": {"longest": 2}}
POOLED = {"kind": "conv2d", "filters": 6, "kernel_size": 3, "pool": {"pool_size": 3}}
NETWORKS: Dict[str, Dict[str, Any]] = {
    "dropout": {
        "layers": [DROPPING, {"neurons": 24}, {"kind": OP}, DROPPING],
        "readout": {"dropout": 0.1},
    },
    "delays": {"layers": [LATE, {"neurons": 24}, {"kind": OP, "delay": 3}, LATE], "delay": 2},
    "behind a convolution": {"layers": [POOLED, {"kind": OP}, DROPPING], "delay": 1},
}


@pytest.mark.verify
@pytest.mark.parametrize("name", NETWORKS)
def test_layers_beside_ops_are_as_on_the_cpu(tmp_path: Path, name: str) -> None:
    package = packed(project(tmp_path / "kernel"))
    op = layer(package.reference, 6, width=4)
    layers = [
        {**each, **op} if each.get("kind") == OP else each for each in NETWORKS[name]["layers"]
    ]
    network = {**NETWORKS[name], "layers": layers}
    expected = weights(trained(tmp_path / "a", package, network=network))
    device = {"kind": "emulator", "tiles": 4}
    emulated = trained(tmp_path / "b", package, network=network, device=device)
    found = weights(emulated)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    report = open_report(emulated.directory / "poplar_profile.json")
    layers_seen = {layer_of(total.program.label) for total in report.execution.totals}
    assert {*(f"layer {number + 1}" for number in range(len(layers))), "readout"} <= layers_seen
