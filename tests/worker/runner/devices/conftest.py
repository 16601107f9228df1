"""A host with IPUs that Graphcore's TensorFlow finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_ops.lif.poplar.build import build
from ipulse_worker.runner.backends import cpu, emulator, ipu
from tests.ipu_fake import State, install
from tests.worker.runner.devices.ipu_steps import keep_apart


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    """A host with one free IPU, Graphcore's TensorFlow and the op, built before."""
    built = tmp_path / "op"
    built.mkdir()
    for path, name in zip(build(), ("libipulse_lif.so", "ipulse_lif.gp")):
        (built / name).symlink_to(path)
    monkeypatch.setenv("IPULSE_POPLAR_OP", str(built))
    keep_apart(tmp_path, monkeypatch)
    for name in ("TF_POPLAR_FLAGS", "PVTI_OPTIONS", "POPLAR_ENGINE_OPTIONS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)  # and again when the test is over
    for module in (cpu, emulator, ipu):
        monkeypatch.setattr(module, "configure_tensorflow", lambda threads, seed: None)
    return install(monkeypatch)
