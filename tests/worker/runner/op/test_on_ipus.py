"""Trainings with custom ops on IPUs, with stand-ins for SDK, driver and TensorFlow."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import List

import numpy as np
import pytest

from ipulse_worker.runner.confined import attempt as confined
from ipulse_worker.runner.sandbox import bubblewrap
from ipulse_worker.runner.sandbox.unavailable import SandboxUnavailable
from poplar_emulator.build import build as build_emulator
from tests.ipu_fake import State
from tests.sdk_fake import install, make_sdk
from tests.worker.runner.devices.conftest import device  # noqa: F401 (a fixture)
from tests.worker.runner.op.packages import packed, project
from tests.worker.runner.op.test_training import trained, weights

ROOT = Path(__file__).parents[4]

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sdk(tmp_path_factory.mktemp("sdk"))


@pytest.fixture
def host(
    device: State,  # noqa: F811 (the fixture)
    sdk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> State:
    """A host with an SDK, two cards and Graphcore's TensorFlow."""
    install(sdk, tmp_path / "dev", 2, monkeypatch)
    return device


@pytest.mark.verify
def test_a_worker_without_a_sandbox_trains_as_a_cpu_does(
    host: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPULSE_SANDBOX", "none")
    package = packed(project(tmp_path / "pool"))
    on_ipu = trained(tmp_path / "ipu", package, device={"kind": "ipu"})
    on_cpu = trained(tmp_path / "cpu", package)
    found = weights(on_ipu)
    assert len(np.unique(found["layer_2.gain"])) > 1  # they began with ones
    for name, array in weights(on_cpu).items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    assert "this worker runs custom ops without a sandbox" in on_ipu.log
    assert host.configured is None  # given back


@pytest.fixture
def confining(host: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose confined trainings find the stand-ins in their sandbox, too."""
    op = tmp_path / "built-op"
    shutil.copytree(str(tmp_path / "op"), str(op))  # no links
    for path in [op, *op.iterdir()]:
        path.chmod(0o755)
    monkeypatch.setenv("IPULSE_POPLAR_OP", str(op))
    builds, folders = confined.ConfinedAttempt._builds, confined.python_folders

    def with_emulator(self: confined.ConfinedAttempt) -> List[Path]:
        return [*builds(self), build_emulator()]

    monkeypatch.setattr(confined.ConfinedAttempt, "_builds", with_emulator)
    monkeypatch.setattr(
        confined,
        "python_folders",
        lambda *more: {**folders(*more), str(ROOT / "tests"): ROOT / "tests"},
    )
    script = str(ROOT / "tests" / "sdk_fake" / "confined.py")
    monkeypatch.setattr(confined.ConfinedAttempt, "command", ("-I", "-u", script))


@pytest.mark.usefixtures("confining")
def test_a_training_in_the_sandbox_trains_as_a_cpu_does(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "pool"))
    on_ipu = trained(tmp_path / "ipu", package, device={"kind": "ipu"})
    assert on_ipu.phases == ["prepare", "compile", "acquire", "run", "report"]
    on_cpu = trained(tmp_path / "cpu", package)
    found = weights(on_ipu)
    for name, array in weights(on_cpu).items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    assert not any("without a sandbox" in line for line in on_ipu.log)
