"""Programs on IPUs, from package to artifacts, with a strict stand-in for SDK and driver."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_core.source_package import read_folder, write_package
from ipulse_worker.runner.devices import ipu_users
from ipulse_worker.runner.devices.ipu_users import DriverView, User
from tests.sdk_fake import VERSION, install, make_sdk
from tests.worker.runner.attempts import FinishedAttempt, attempt

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

PROFILE: Dict[str, Any] = {"engine_options": {"autoReport.all": "true"}}
# Attaches an IPU and runs codelets of popc; before, it looks for what is not its own: the files
# that its arguments name, with a forged profile and a link to the first in its reports.
PROGRAM = """
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poputil/TileMapping.hpp>
#include <sys/stat.h>
#include <unistd.h>
using namespace poplar;
int main(int count, char **arguments) {
  for (int n = 1; n < count; ++n) {
    std::ifstream file(arguments[n]);
    std::string line;
    std::cout << arguments[n] << ": " << (std::getline(file, line) ? line : "nothing") << std::endl;
  }
  if (DIR *folder = opendir("/dev"))
    while (dirent *entry = readdir(folder))
      if (std::string(entry->d_name).substr(0, 3) == "ipu")
        std::cout << "device " << entry->d_name << std::endl;
  if (count > 1) {
    mkdir("poplar_reports", 0755);
    mkdir("poplar_reports/forged", 0755);
    std::ofstream("poplar_reports/forged/profile.json") << "{}";
    std::ofstream("poplar_reports/forged/profile.pop") << "forged";
    symlink(arguments[1], "poplar_reports/debug.cbor");
  }
  auto devices = DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1);
  while (!devices.front().attach()) sleep(1);
  Graph graph(devices.front().getTarget());
  graph.addCodelets("vertices.gp");
  Tensor x = graph.addVariable(FLOAT, {4}, "x");
  poputil::mapTensorLinearly(graph, x);
  ComputeSet set = graph.addComputeSet("fill");
  auto vertex = graph.addVertex(set, "Fill", {{"x", x}});
  graph.setTileMapping(vertex, 0);
  Engine engine(graph, program::Execute(set));
  engine.load(devices.front());
  engine.run(0);
  std::ofstream("result.txt") << devices.size() << " devices";
}
"""
VERTEX = """
#include <poplar/Vertex.hpp>
class Fill : public poplar::Vertex {
public:
  poplar::Output<poplar::Vector<float>> x;
  bool compute() { for (auto &v : x) v = 1; return true; }
};
"""


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sdk(tmp_path_factory.mktemp("sdk"))


@pytest.fixture
def host(sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A host with an SDK and two cards."""
    install(sdk, tmp_path / "dev", 2, monkeypatch)
    monkeypatch.setenv("IPULSE_DEVICES", str(tmp_path / "devices"))
    return monkeypatch


def run(tmp_path: Path, program: str = PROGRAM, **changes: Any) -> FinishedAttempt:
    folder, package = tmp_path / "program", tmp_path / "package.tar"
    folder.mkdir()
    (folder / "main.cpp").write_text(program)
    (folder / "vertices.cpp").write_text(VERTEX)
    with package.open("wb") as out:
        write_package(read_folder(folder).files, out)
    spec: Dict[str, Any] = {
        "version": 1,
        "kind": "poplar_program",
        "package": f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}",
        "sources": ["main.cpp"],
        "codelets": ["vertices.cpp"],
        "device": {"kind": "ipu", "ipus": 1, **changes.pop("device", {})},
        **changes,
    }
    (tmp_path / "work").parent.chmod(0o755)
    return attempt(tmp_path / "work", spec, "PoplarProgramSpec", start_from=str(package))


def artifacts(result: FinishedAttempt) -> Dict[str, str]:
    return {event["path"]: event["role"] for event in result.events if event["kind"] == "artifact"}


@pytest.mark.old_python
def test_runs_with_its_own_card_and_leaves_the_profile_of_the_sdk(
    host: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "worker-token"
    secret.write_text("top secret")
    result = run(tmp_path, device=PROFILE, arguments=[str(secret), "/proc/1/environ"])
    assert result.done["reason"] == "completed", (result.done, result.log)
    assert f"compiles with {VERSION}" in result.log
    # Its own card, of two; none of the secrets.
    names = {line.split()[1] for line in result.log if line.startswith("device ")}
    assert names == {"ipu0", "ipu0_ex", "ipu0_mailbox", "ipu0_mem"}
    assert f"{secret}: nothing" in result.log
    assert "top secret" not in "\n".join(result.log)
    files = artifacts(result)
    assert files["profile.pop"] == files["profile_2.pop"] == "poplar_profile"
    pops = {(result.directory / name).read_text() for name in ("profile.pop", "profile_2.pop")}
    assert "forged" in pops  # for download
    assert any("compilation" in text for text in pops)
    # The forged profile is a file like any other: neither drawn nor counted.
    assert "poplar_profile.json" not in files  # the first report is forged, and no report
    assert files["poplar_reports-forged-profile.json"] == "output"
    assert "debug.cbor" not in files  # a link
    assert files["result.txt"] == "output"
    assert not [name for name in files if name.endswith((".gp", ".cpp"))]
    assert "emulated_cycles" not in result.done["summary"]
    assert "emulated" not in (result.directory / "report.html").read_text()


def test_the_sdk_converts_the_profile_for_the_page(
    host: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = run(tmp_path, device=PROFILE)
    assert result.done["reason"] == "completed", (result.done, result.log)
    assert artifacts(result)["poplar_profile.json"] == "poplar_profile"
    document = json.loads((result.directory / "poplar_profile.json").read_text())
    assert document["emulated"] is False
    assert document["compilation"]["computeSets"][0]["vertices"][0]["type"]["name"] == "Fill"
    assert "emulated_cycles" not in result.done["summary"]


@pytest.mark.verify
def test_over_fabric_the_network_must_be_allowed(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as controller:
        host.setenv("IPUOF_VIPU_API_HOST", "127.0.0.1")
        host.setenv("IPUOF_VIPU_API_PORT", str(controller.getsockname()[1]))
        host.setenv("IPUOF_VIPU_API_PARTITION_ID", "p1")
        refused = run(tmp_path)
        assert refused.done["reason"] == "sandbox_unavailable"
        assert "IPULSE_IPU_SANDBOX_NETWORK=1" in refused.done["message"]
        assert refused.phases == ["prepare"]
        host.setenv("IPULSE_IPU_SANDBOX_NETWORK", "1")
        (tmp_path / "allowed").mkdir()
        result = run(tmp_path / "allowed")
        assert result.done["reason"] == "completed", (result.done, result.log)
        text = (result.directory / "result.txt").read_text()
        assert text == "4 devices"  # of the partition
        assert "profile.pop" not in artifacts(result)


THROWS = """
#include <poplar/exceptions.hpp>
#include <poputil/TileMapping.hpp>
int main() { throw poplar::poplar_error("recoverable_runtime_error: IPU_RESET"); }
"""


def test_a_program_cannot_pretend_a_broken_ipu(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Check that a forged message is shown, and that the worker keeps its IPUs."""
    result = run(tmp_path, THROWS, codelets=[])
    assert result.done["reason"] == "program_failed", result.done
    assert "IPU_RESET" in result.done["message"]


class TestBeforeItIsCompiled:
    """Nothing of the program is compiled where it could not run."""

    def test_without_an_sdk(self, host: pytest.MonkeyPatch, tmp_path: Path) -> None:
        host.setenv("PATH", "/usr/bin:/bin")
        result = run(tmp_path)
        assert result.done["reason"] == "kernel_unavailable"
        assert "enable.sh" in result.done["message"]

    def test_with_too_few_cards(self, host: pytest.MonkeyPatch, tmp_path: Path) -> None:
        result = run(tmp_path, device={"ipus": 4})
        assert result.done["reason"] == "device_unavailable"
        assert "this worker has 2" in result.done["message"]

    def test_without_ipus(self, host: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for path in (tmp_path / "dev").iterdir():
            path.unlink()
        result = run(tmp_path)
        assert result.done["reason"] == "device_unavailable"
        assert "/ipu0" in result.done["message"]


def test_the_time_limit_includes_the_wait(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    users = [User(str(card), "1", "somebody", "other") for card in range(2)]
    host.setattr(ipu_users, "driver_view", lambda: DriverView(2, users))
    result = run(tmp_path, "int main() {}", codelets=[], limits={"seconds": 1})
    assert result.done["reason"] == "device_unavailable", result.done
    assert "limits.seconds" in result.done["message"]


def test_a_program_that_ran_out_of_processes_says_so_and_keeps_its_files(
    host: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = """#include <cstdio>
#include <unistd.h>
int main() {
  FILE *file = std::fopen("found.txt", "w");
  std::fputs("found", file);
  std::fclose(file);
  for (int left = 100; left; --left) {
    int child = fork();
    if (child == 0) { sleep(600); return 0; }
    if (child < 0) { usleep(300000); return 3; }
  }
}
"""
    result = run(tmp_path, source, codelets=[], limits={"processes": 8})
    assert result.done["reason"] == "program_failed", result.done
    assert "limits.processes" in result.done["message"]
    assert "found.txt" in artifacts(result)
