"""Trainings with custom ops on IPUs, with stand-ins for SDK, driver and TensorFlow."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import List

import numpy as np
import pytest

import ipulse_core
from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_worker.runner.attempts import confined
from poplar_emulator.build import build as build_emulator
from tests.ipu_fake import State
from tests.sdk_fake import install, make_sdk
from tests.worker.runner.attempts import attempt
from tests.worker.runner.devices.conftest import device  # noqa: F401 (a fixture)
from tests.worker.runner.user_code.ops.packages import packed, project
from tests.worker.runner.user_code.ops.test_training import spec, trained, weights

ROOT = Path(__file__).parents[5]

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


# Runs in place of the training: looks at what is not its own, and tries to change it. It expects
# the paths of a token, of another attempt and of a package, and a port of this machine.
CURIOUS = """
import json, os, socket, sys
token, others, package, port, reads, writes = sys.argv[1:]
given = json.loads(os.fdopen(int(reads), "rb").readline())["assignment"]


def changes(path):
    assert os.path.exists(path), path
    try:
        with open(os.path.join(path, "added") if os.path.isdir(path) else path, "a"):
            return True
    except OSError:
        return False


places = [package, *given["ops"].values()]
places += [os.path.join("/builds", name) for name in os.listdir("/builds")]
found = {
    "seen": [path for path in (token, others) if os.path.exists(path)],
    "cards": sorted(name for name in os.listdir("/dev") if name.startswith("ipu")),
    "places": len(places),
    "changed": [path for path in places if changes(path)],
    "network": socket.socket().connect_ex(("127.0.0.1", int(port))) == 0,
    "own": changes(os.getcwd()),
}
done = {"kind": "done", "reason": "completed", "message": json.dumps(found), "summary": {}}
os.write(int(writes), json.dumps(done).encode() + b"\\n")
"""


@pytest.mark.usefixtures("confining")
def test_the_process_of_a_training_sees_and_changes_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, others = tmp_path / "worker-token", tmp_path / "others-attempt"
    secret.write_text("top secret")
    others.mkdir()
    core = str(Path(ipulse_core.__file__).parent)
    package = packed(project(tmp_path / "pool"))
    document = spec(package, device={"kind": "ipu"})
    with socket.create_server(("127.0.0.1", 0)) as server:
        looks = (str(secret), str(others), core, str(server.getsockname()[1]))
        command = ("-s", "-u", "-c", CURIOUS, *looks)
        monkeypatch.setattr(confined.ConfinedAttempt, "command", command)
        ended = attempt(tmp_path / "work", document, ops={package.digest: str(package.path)})
    assert ended.done["reason"] == "completed", (ended.done, ended.log)
    found = json.loads(ended.done["message"])
    assert found.pop("places") > 3  # IPUlse, the op's package and the builds
    assert found == {
        "seen": [],
        "cards": ["ipu0", "ipu0_ex", "ipu0_mailbox", "ipu0_mem"],
        "changed": [],
        "network": False,
        "own": True,
    }


@pytest.mark.usefixtures("confining")
@pytest.mark.verify
def test_a_training_in_the_sandbox_trains_as_a_cpu_does(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "pool"))
    on_ipu = trained(tmp_path / "ipu", package, device={"kind": "ipu"})
    assert on_ipu.phases == ["prepare", "compile", "acquire", "run", "report"]
    on_cpu = trained(tmp_path / "cpu", package)
    found = weights(on_ipu)
    for name, array in weights(on_cpu).items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-3, err_msg=name)
    assert not any("without a sandbox" in line for line in on_ipu.log)
