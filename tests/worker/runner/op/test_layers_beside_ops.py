"""Layers with dropout or delays in networks with custom ops."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_core.pva.layers import layer_of
from ipulse_core.pva.report import open_report
from tests.worker.runner.op.packages import layer, packed, project
from tests.worker.runner.op.test_training import trained, weights

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("threads_are_set"),
]


NETWORKS: Dict[str, Dict[str, Any]] = {
    "dropout": {"first": {"dropout": 0.2}, "readout": {"dropout": 0.1}},
    "delays": {"op": {"delay": 3}, "first": {"delays": {"longest": 2}}, "delay": 2},
}


@pytest.mark.verify
@pytest.mark.parametrize("name", NETWORKS)
def test_layers_beside_ops_are_as_on_the_cpu(tmp_path: Path, name: str) -> None:
    package = packed(project(tmp_path / "kernel"))
    network = dict(NETWORKS[name])
    first = {"neurons": 12, **network.pop("first")}
    op = {**layer(package.reference, 6, width=4), **network.pop("op", {})}
    network["layers"] = [first, {"neurons": 24}, op, first]
    expected = weights(trained(tmp_path / "a", package, network=network))
    device = {"kind": "emulator", "tiles": 4}
    emulated = trained(tmp_path / "b", package, network=network, device=device)
    found = weights(emulated)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    report = open_report(emulated.directory / "poplar_profile.json")
    layers_seen = {layer_of(total.program.label) for total in report.execution.totals}
    assert {*(f"layer {number}" for number in range(1, 5)), "readout"} <= layers_seen
