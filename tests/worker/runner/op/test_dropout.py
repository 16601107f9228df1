"""Layers with dropout in networks with custom ops."""

from __future__ import annotations

import shutil
from pathlib import Path

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


@pytest.mark.verify
def test_dropout_beside_ops_is_as_on_the_cpu(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "kernel"))
    dropping = {"neurons": 12, "dropout": 0.2}
    layers = [dropping, {"neurons": 24}, layer(package.reference, 6, width=4), dropping]
    network = {"layers": layers, "readout": {"dropout": 0.1}}
    expected = weights(trained(tmp_path / "a", package, network=network))
    device = {"kind": "emulator", "tiles": 4}
    emulated = trained(tmp_path / "b", package, network=network, device=device)
    found = weights(emulated)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    report = open_report(emulated.directory / "poplar_profile.json")
    layers_seen = {layer_of(total.program.label) for total in report.execution.totals}
    assert {*(f"layer {number}" for number in range(1, 5)), "readout"} <= layers_seen
