"""An agent announces the software of its machine, after it has tried it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse_core.capabilities import COMPILER, FIXES, KERNELS, SANDBOX
from ipulse_worker.agent.registration import software_probe as module
from ipulse_worker.agent.registration.machine_commands import MachineCommands
from ipulse_worker.agent.registration.software_probe import SoftwareProbe
from ipulse_worker.agent.settings import AgentSettings

DEADLINE = 300.0  # on a busy machine


@pytest.fixture
def probe(settings: AgentSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoftwareProbe]:
    monkeypatch.setattr(module, "PROBE_SECONDS", DEADLINE)
    commands = MachineCommands()
    yield SoftwareProbe(settings, commands)
    commands.close(1.0)


def compiler(folder: Path, script: str) -> str:
    program = folder / "compiler"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_a_compiler_that_fails_is_missing(
    probe: SoftwareProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, "echo 'error: no cc1plus'; exit 1"))
    found = probe.ask()
    assert found is not None
    assert found.capabilities[COMPILER] is False
    assert "no cc1plus" in found.missing[COMPILER]
    assert found.capabilities["cores"] == len(os.sched_getaffinity(0))
    monkeypatch.setenv("CXX", compiler(tmp_path, "exit 0"))
    found = probe.ask()
    assert found is not None
    assert (found.capabilities[COMPILER], found.capabilities[KERNELS]) == (True, True)
    assert COMPILER not in found.missing


def test_what_a_job_did_not_find_is_imported(
    probe: SoftwareProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("nir", "h5py", "sklearn"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise OSError('a library is gone')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    found = probe.ask()
    assert found is not None
    assert found.capabilities["nir"] is True  # it is installed, as far as can be seen
    probe.must_import = True
    found = probe.ask()
    assert found is not None
    assert found.capabilities["scikit-learn"] is False
    assert "a library is gone" in found.missing["nir"]


def test_no_answer_in_time_says_nothing_and_a_runner_that_cannot_answer_has_nothing(
    probe: SoftwareProbe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.001)
    assert probe.ask() is None
    monkeypatch.setattr(module, "PROBE", "no_such_module")
    monkeypatch.setattr(module, "PROBE_SECONDS", DEADLINE)
    found = probe.ask()
    assert found is not None
    assert set(found.missing) == set(FIXES) - {SANDBOX}
    assert "no_such_module" in found.missing[COMPILER]
