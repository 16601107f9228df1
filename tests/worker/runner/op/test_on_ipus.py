"""Trainings with custom ops on IPUs, with stand-ins for SDK, driver and TensorFlow."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import List

import numpy as np
import pytest

import ipulse_core
from ipulse_worker.runner.confined import attempt as confined
from ipulse_worker.runner.sandbox import bubblewrap
from ipulse_worker.runner.sandbox.unavailable import SandboxUnavailable
from poplar_emulator.build import build as build_emulator
from tests.ipu_fake import State
from tests.sdk_fake import install, make_sdk
from tests.worker.runner.attempts import attempt
from tests.worker.runner.devices.conftest import device  # noqa: F401 (a fixture)
from tests.worker.runner.op.packages import packed, project
from tests.worker.runner.op.test_training import spec, trained, weights

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
    """Make a host with stand-ins for IPUs, also in the sandbox of confined trainings."""
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
    monkeypatch.setattr(confined.ConfinedAttempt, "command", ("-s", "-u", script))


@pytest.mark.usefixtures("confining")
def test_over_fabric_the_network_must_be_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPUOF_VIPU_API_HOST", "127.0.0.1")
    package = packed(project(tmp_path / "pool"))
    document = spec(package, device={"kind": "ipu"})
    refused = attempt(tmp_path / "work", document, ops={package.digest: str(package.path)})
    assert refused.done["reason"] == "sandbox_unavailable"
    assert "IPULSE_IPU_SANDBOX_NETWORK=1" in refused.done["message"]
    assert refused.phases == ["prepare"]


@pytest.mark.parametrize(
    ("orders", "reason"),
    [([True, False], "cancelled_by_user"), ([False, True], "finished_early")],
    ids=["cancel", "finish"],
)
@pytest.mark.usefixtures("confining")
@pytest.mark.verify
def test_orders_of_the_agent_reach_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, orders: List[bool], reason: str
) -> None:
    monkeypatch.setattr(confined.ConfinedAttempt, "_orders", lambda self: orders)
    package = packed(project(tmp_path / "pool"))
    document = spec(package, device={"kind": "ipu"})
    ended = attempt(tmp_path / "work", document, ops={package.digest: str(package.path)})
    assert ended.done["reason"] == reason, ended.log


@pytest.mark.usefixtures("confining")
@pytest.mark.verify
def test_an_op_that_ends_the_process_ends_its_job_alone(tmp_path: Path) -> None:
    folder = project(tmp_path / "pool")
    source = folder / "pool_op.cpp"
    dies = "#include <cstdlib>\nstatic const int died = (std::abort(), 0);\n"
    source.write_text(dies + source.read_text())
    package = packed(folder)
    document = spec(package, device={"kind": "ipu"})
    ended = attempt(tmp_path / "work", document, ops={package.digest: str(package.path)})
    assert ended.done["reason"] == "program_failed", ended.done
    assert "ended its process" in ended.done["message"]


# Looks at everything that is not its own when TensorFlow loads it, and tries to change it.
CURIOUS = r"""
#include <arpa/inet.h>
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
namespace {
struct Curious {
  static void read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::printf("curious: %s has %s\n", path.c_str(), all.empty() ? "nothing" : all.c_str());
  }
  static void list(const char *path) {
    if (DIR *folder = opendir(path))
      while (dirent *entry = readdir(folder))
        std::printf("curious: in %s is %s\n", path, entry->d_name);
  }
  static void change(const std::string &path) {
    std::ofstream(path, std::ios::app) << "changed";
    std::printf("curious: %s %s\n", path.c_str(), access(path.c_str(), W_OK) ? "stays" : "written");
  }
  Curious() {
    read("TOKEN");
    read("OTHERS/notes.txt");
    list("/dev");
    list("OTHERS");
    change("/builds/BUILD/library.so");
    change("PACKAGES/ipulse_core/__init__.py");
    change("/given/0/PACKAGE");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(PORT);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    const bool reached = !connect(made, reinterpret_cast<sockaddr *>(&address), sizeof address);
    std::printf("curious: network %s\n", reached ? "reached" : "closed");
    std::fflush(stdout);
  }
} curious;
}
"""


@pytest.mark.usefixtures("confining")
def test_a_training_in_the_sandbox_sees_nothing_else_and_trains_as_a_cpu_does(
    tmp_path: Path,
) -> None:
    secret, others = tmp_path / "worker-token", tmp_path / "others-attempt"
    secret.write_text("top secret")
    others.mkdir()
    (others / "notes.txt").write_text("of another")
    with socket.create_server(("127.0.0.1", 0)) as server:
        folder = project(tmp_path / "pool")
        source = folder / "pool_op.cpp"
        changes = {
            "TOKEN": str(secret),
            "OTHERS": str(others),
            "PACKAGES": str(Path(ipulse_core.__file__).parents[1]),
            "PACKAGE": "pool.tar",
            "PORT": str(server.getsockname()[1]),
        }
        text = CURIOUS
        for name, value in changes.items():
            text = text.replace(name, value)
        source.write_text(text + source.read_text())
        package = packed(folder)
        on_ipu = trained(tmp_path / "ipu", package, device={"kind": "ipu"})
    assert on_ipu.phases == ["prepare", "compile", "acquire", "run", "report"]
    on_cpu = trained(tmp_path / "cpu", package)
    found = weights(on_ipu)
    for name, array in weights(on_cpu).items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    assert not any("without a sandbox" in line for line in on_ipu.log)
    curious = [line for line in on_ipu.log if line.startswith("curious: ")]
    assert f"curious: {secret} has nothing" in curious
    assert f"curious: {others}/notes.txt has nothing" in curious
    assert "curious: network closed" in curious
    assert not any(f"in {others} is" in line for line in curious)
    cards = {line.split()[-1] for line in curious if "is ipu" in line}
    assert cards == {"ipu0", "ipu0_ex", "ipu0_mailbox", "ipu0_mem"}
    assert not [line for line in curious if line.endswith("written")], curious
    assert sum(line.endswith("stays") for line in curious) == 3
    assert "top secret" not in "\n".join(on_ipu.log)
