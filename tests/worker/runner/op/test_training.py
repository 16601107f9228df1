"""Trainings of networks with custom ops."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.op.packages import Packed, layer, packed, project

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("threads_are_set"),
]


def spec(package: Packed, **changes: Any) -> Dict[str, Any]:
    return {
        "version": 1,
        "data": {"kind": "digits", "steps": 8, "samples": 96},
        "network": {
            "layers": [{"neurons": 24}, layer(package.reference, 6, width=4), {"neurons": 12}]
        },
        "training": {"epochs": 1, "batch_size": 16},
        "device": {"kind": "cpu"},
        **changes,
    }


def trained(folder: Path, package: Packed, **changes: Any) -> FinishedAttempt:
    ended = attempt(
        folder,
        spec(package, **changes),
        start_from=str(package.path),
        start_mode="package",
    )
    assert ended.done["reason"] == "completed", ended.log
    return ended


def weights(ended: FinishedAttempt) -> Dict[str, np.ndarray]:
    with np.load(str(ended.directory / "weights.npz")) as arrays:
        return dict(arrays)


def test_kernel_reference_and_emulator_train_alike(tmp_path: Path) -> None:
    with_kernel = packed(project(tmp_path / "kernel"))
    without = packed(project(tmp_path / "reference", kernel=None))
    by_kernel = trained(tmp_path / "a", with_kernel)
    found = weights(by_kernel)
    assert set(found) == {"layer_1", "layer_3", "readout"}
    assert (by_kernel.directory / "report.html").stat().st_size > 0
    by_reference = weights(trained(tmp_path / "b", without))
    for name, array in found.items():
        np.testing.assert_array_equal(array, by_reference[name])
    device = {"kind": "emulator", "tiles": 4}
    on_emulator = weights(trained(tmp_path / "c", with_kernel, device=device))
    for name, array in found.items():
        np.testing.assert_allclose(on_emulator[name], array, rtol=0, atol=1e-3)


@pytest.mark.verify
@pytest.mark.parametrize("delay", [0, 1])
def test_an_op_may_be_first_last_and_twice(tmp_path: Path, delay: int) -> None:
    package = packed(project(tmp_path / "op"))
    stacks = [
        [layer(package.reference, 32), {"neurons": 12}],
        [{"neurons": 24}, layer(package.reference, 12)],
        [layer(package.reference, 32), layer(package.reference, 16), {"neurons": 8}],
    ]
    for number, stack in enumerate(stacks):
        network = {"layers": stack, "delay": delay}
        readout = {"kind": "spiking"}
        trained(tmp_path / f"leaky{number}", package, network=network)
        trained(
            tmp_path / f"spiking{number}",
            package,
            network={**network, "readout": readout},
            training={"epochs": 1, "batch_size": 16, "loss": "spike_count_cross_entropy"},
        )


@pytest.mark.verify
def test_a_failing_op_ends_the_training_with_its_reason(tmp_path: Path) -> None:
    text = (project(tmp_path / "good") / "reference.py").read_text()
    broken = text.replace("return [groups.max(axis=-1)]", "return [groups.max(axis=-1) * 0.5]")
    package = packed(project(tmp_path / "op", {"reference.py": broken}, kernel=None))
    ended = attempt(
        tmp_path / "a", spec(package), start_from=str(package.path), start_mode="package"
    )
    assert ended.done["reason"] == "program_failed"
    assert "each 0 or 1" in ended.done["message"]


def test_without_its_package_nothing_runs(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "op"))
    ended = attempt(tmp_path / "a", spec(package))
    assert ended.done["reason"] == "runner_error"
    assert "not downloaded" in ended.done["message"]
