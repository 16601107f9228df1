"""An agent says what its machine has: IPUs, and data sets as the runner finds them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ipulse.spec import Recording, parse_spec
from ipulse_core.data_sets import KINDS_IN_FILES, NPZ, key_of
from ipulse_core.messages import MAX_DATA_SETS
from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_ops.neuron_package.loading import installed_packages
from ipulse_worker.agent.registration import inventory as module
from ipulse_worker.agent.registration import repeated
from ipulse_worker.agent.registration.inventory import InventoryReader
from ipulse_worker.agent.service_types import Inventory
from ipulse_worker.agent.settings import AgentSettings
from tests.ops.neuron_package.wheels import install, wheel
from tests.worker.agent.conftest import agent_with
from tests.worker.agent.fake_service import FakeService

SHD = ("shd_train.h5", "shd_test.h5")
SSC = ("ssc_train.h5", "ssc_valid.h5")
RECORDINGS = ("trials_to_train.txt", "trials_to_test.txt")


def fill(directory: Path, *files: str) -> None:
    for file in files:
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def read(settings: AgentSettings, data_dir: Path | None, **environment: str) -> Inventory:
    kinds = ("cpu", "emulator", "ipu")
    with_data = settings.model_copy(update={"data_dir": data_dir, "device_kinds": kinds})
    return InventoryReader(with_data, environment).read()


def test_data_sets_are_found_by_their_files(settings: AgentSettings, tmp_path: Path) -> None:
    fill(tmp_path, "mine.npz", "notes.txt", ".hidden.npz", "-x.npz", "half/shd_train.h5")
    fill(tmp_path / "shd", *SHD)
    fill(tmp_path / "speech", *SSC)
    fill(tmp_path / "n_mnist", "Train/0/a.bin", "Test/0/a.bin")
    fill(tmp_path / "gestures", *RECORDINGS)
    fill(tmp_path / "cut", "ibmGestureTrain/a/0.npy", "ibmGestureTest/a/0.npy")
    (tmp_path / "folder.npz").mkdir()
    expected = ("dvs_gesture/cut", "dvs_gesture/gestures", "n_mnist/n_mnist", "npz/mine")
    assert read(settings, tmp_path).data_sets == (*expected, "shd/shd", "ssc/speech")


def test_links_count_only_within_the_directory(
    settings: AgentSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inside, outside = tmp_path / "data", tmp_path / "elsewhere"
    fill(inside, "mine.npz")
    fill(outside, "theirs.npz", *SHD)
    (inside / "alias.npz").symlink_to("mine.npz")
    (inside / "theirs.npz").symlink_to(outside / "theirs.npz")
    (inside / "shd").symlink_to(outside)
    assert read(settings, inside).data_sets == ("npz/alias", "npz/mine")
    named = [getattr(record, "links", None) for record in caplog.records]
    assert ["shd", "theirs.npz"] in named


def test_what_is_not_known_is_not_said(settings: AgentSettings, tmp_path: Path) -> None:
    assert read(settings, None).data_sets == ()
    assert read(settings, tmp_path / "gone").data_sets is None
    fill(tmp_path, *(f"set-{number}.npz" for number in range(MAX_DATA_SETS + 1)))
    assert read(settings, tmp_path).data_sets is None


def test_emulated_ipus_are_counted_as_the_runner_counts_them(settings: AgentSettings) -> None:
    assert read(settings, None).ipus == {"emulator": 4}
    assert read(settings, None, IPULSE_EMULATED_IPUS="8").ipus == {"emulator": 8}
    assert read(settings, None, IPULSE_EMULATED_IPUS="many").ipus == {}


@pytest.mark.parametrize(
    ("script", "count"), [("echo 16", 16), ("echo no devices", None), ("exit 1", None)]
)
def test_real_ipus_are_counted_by_the_sdk(
    settings: AgentSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    count: int | None,
) -> None:
    program = tmp_path / "gc-info"
    program.write_text(f'#!/bin/sh\n[ "$1" = --ipu-count ] && {script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert read(settings, None).ipus.get("ipu") == count


def test_without_the_sdk_the_number_is_not_known(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COUNT_COMMAND", ("no-such-program",))
    assert "ipu" not in read(settings, None).ipus


def test_a_data_set_that_comes_is_announced_soon(
    service: FakeService,
    settings: AgentSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ipulse_worker.agent.registration.registration.CHECK_SECONDS", 0.05)
    data = tmp_path / "data"
    fill(data, "first.npz")

    def announced() -> list[Any]:
        return [body["data_sets"] for body in service.registrations]

    with agent_with(settings.model_copy(update={"data_dir": data})):
        service.wait_for(lambda: ["npz/first"] in announced())
        fill(data, "second.npz")
        service.wait_for(lambda: ["npz/first", "npz/second"] in announced())


def test_specs_name_data_sets_as_agents_do() -> None:
    layer = {"network": {"layers": [{"neurons": 4}]}}
    keys = set()
    for kind in KINDS_IN_FILES - {NPZ}:
        data = parse_spec({"version": 1, **layer, "data": {"kind": kind}}).data
        assert isinstance(data, Recording)
        keys.add(key_of(data.kind, data.name))
    assert keys == {f"{kind}/{kind}" for kind in KINDS_IN_FILES - {NPZ}}


@pytest.mark.parametrize(
    ("variable", "script", "state"),
    [("none", "exit 1", "off"), ("", "exit 0", "bubblewrap"), ("", "exit 1", "missing")],
)
def test_the_sandbox_for_code_of_users_is_said(
    settings: AgentSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    script: str,
    state: str,
) -> None:
    for name in ("bwrap", "prlimit", "setpriv", "mount"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPULSE_SANDBOX", variable)
    found = read(settings, None)
    assert found.capabilities["sandbox"] == (False if state == "missing" else state)
    message = found.remarks.get("sandbox", "")
    assert bool(message) is (state == "missing" or "watched, not limited" in message)


@pytest.mark.parametrize(
    ("kinds", "network", "state"),
    [
        (("ipu",), "0", "missing"),
        (("ipu",), "1", "bubblewrap"),
        (("cpu", "ipu"), "0", "bubblewrap"),  # it runs code on cpu
    ],
)
def test_ipus_over_fabric_need_a_network_that_is_allowed(
    settings: AgentSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kinds: tuple[str, ...],
    network: str,
    state: str,
) -> None:
    for name in ("bwrap", "prlimit", "setpriv"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPUOF_VIPU_API_HOST", "127.0.0.1")
    monkeypatch.setenv("IPULSE_IPU_SANDBOX_NETWORK", network)
    found = InventoryReader(settings.model_copy(update={"device_kinds": kinds}), {}).read()
    assert found.capabilities["sandbox"] == (False if state == "missing" else state), found
    why = found.remarks.get("sandbox", "")
    assert ("IPULSE_IPU_SANDBOX_NETWORK=1" in why) == (state == "missing")


def test_a_runner_without_the_probe_has_none(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE", "no_such_module")
    found = read(settings, None)
    assert found.capabilities["sandbox"] is False
    assert "no_such_module" in found.remarks["sandbox"]


def test_packages_of_neurons_that_are_signed_off_are_said(
    settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    [installed] = installed_packages([str(folder)])
    assert read(settings, None).neuron_packages == ()
    missing = f"other@sha256:{'0' * 64}"
    monkeypatch.setenv(VARIABLE, f"{installed.reference}, {missing}")
    listed = settings.model_copy(update={"neuron_packages": (installed.reference, missing)})
    [found] = read(listed, None).neuron_packages
    assert found["package"] == installed.reference
    assert [each["name"] for each in found["parameters"]] == ["decay", "coupling", "gain"]


def test_a_busy_machine_is_asked_again_for_its_packages(
    settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    [installed] = installed_packages([str(folder)])
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv(VARIABLE, installed.reference)
    monkeypatch.setattr(module, "PACKAGES_SECONDS", 0.001)
    monkeypatch.setattr(repeated, "FIRST_SECONDS", 0.0)
    reader = InventoryReader(
        settings.model_copy(update={"neuron_packages": (installed.reference,)})
    )
    assert reader.read().neuron_packages == ()
    monkeypatch.setattr(module, "PACKAGES_SECONDS", 300.0)
    [found] = reader.read().neuron_packages
    assert found["package"] == installed.reference


def test_packages_are_found_after_a_probe_that_failed(
    settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    [installed] = installed_packages([str(folder)])
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv(VARIABLE, installed.reference)
    reader = InventoryReader(
        settings.model_copy(update={"neuron_packages": (installed.reference,)})
    )
    with monkeypatch.context() as failing:
        failing.setattr(module, "PACKAGES_PROBE", "no_such_module")
        failing.setattr(repeated, "LONGEST_SECONDS", 0.0)
        assert reader.read().neuron_packages == ()
    # One question at a time: others may be due first.
    assert any(reader.read().neuron_packages for _ in range(4))


def test_a_runner_that_cannot_say_its_packages_has_none(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACKAGES_PROBE", "no_such_module")
    listed = settings.model_copy(update={"neuron_packages": (f"x@sha256:{'0' * 64}",)})
    assert read(listed, None).neuron_packages == ()
