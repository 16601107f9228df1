"""What an agent finds in a container's rights: read-only root, no capabilities, another user.

The root has this machine's `/usr` and the checkout in place of the image's files; `make containers`
and `make verify` build and try the image itself. Jobs in it have the bits of the checkout's own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.registry.versions import lower
from ipulse_core.source_package import read_folder, write_package
from ipulse_worker.agent.supervision.runner_environment import runner_environment
from tests.container.images.container import ENTER
from tests.container.left_by_jobs import left
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.forked_runner import start_server
from tests.worker.runner.resolver import resolve
from tests.worker.runner.user_code.ops.packages import packed, project

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
PYTHON = str(ROOT / ".venv" / "bin" / "python")
USER = 10001  # of the image
STATE = "/var/lib/ipulse"  # in the root
SEEN = ("/usr", str(ROOT), sys.base_prefix)  # read by the programs below, at the same places
# Mounts these places into the root, and enters it as a container.
MOUNT = """
root=$1; shift
for place in $SEEN; do
    mkdir -p "$root$place"
    mount --rbind "$place" "$root$place"
done
exec "$@"
"""


class HardenedRoot(NamedTuple):
    """The beginning of a command line that runs a program in the root, and its state's place."""

    enter: list[str]
    state: Path


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> HardenedRoot:
    tmp_path = tmp_path_factory.mktemp("hardened")
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("needs root and bubblewrap")
    if ROOT.is_relative_to("/tmp"):  # noqa: S108 - of this machine
        pytest.skip("the root has a /tmp of its own, which hides this checkout")
    root = tmp_path / "root"
    for name in ("proc", "tmp", "dev", "var/lib/ipulse", "run/secrets", "etc", "app", "usr"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc" / "hosts").touch()
    for name in ("alternatives", "ld.so.cache"):
        if Path("/etc", name).is_dir():
            shutil.copytree(Path("/etc", name), root / "etc" / name, symlinks=True)
        elif Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), root / "etc" / name)
    for name in ("state", "secrets"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "state", USER, USER)
    (tmp_path / "hosts").touch()
    places = [root, tmp_path / "state", tmp_path / "secrets", tmp_path / "hosts", USER, "exec"]
    private = ["unshare", "--mount", "--propagation", "private"]
    mount = ["bash", "-euc", MOUNT, "mount", str(root)]
    enter = ["bash", "-euc", ENTER, "enter", *map(str, places)]
    variables = ["PATH=/usr/bin:/bin", f"HOME={STATE}", "TF_CPP_MIN_LOG_LEVEL=2"]
    return HardenedRoot([*private, *mount, *enter, *variables], tmp_path / "state")


def said(inside: HardenedRoot, *command: str) -> dict[str, Any]:
    done = subprocess.run(
        [*inside.enter, *command],
        env={**os.environ, "SEEN": " ".join(SEEN)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_container_has_compiler_and_sandbox(inside: HardenedRoot) -> None:
    found = said(inside, PYTHON, "-m", "ipulse_worker.runner.capabilities")
    assert found["missing"] == {}
    assert found["capabilities"]["compiler"] is True
    sandbox = said(
        inside, PYTHON, "-m", "ipulse_worker.runner.user_code.sandbox_probe", "cpu", "emulator"
    )
    assert sandbox["state"] == "bubblewrap", sandbox


def test_one_without_them_says_so(inside: HardenedRoot) -> None:
    without = ["PATH=/nowhere", PYTHON, "-m"]
    found = said(inside, *without, "ipulse_worker.runner.capabilities")
    assert found["capabilities"]["compiler"] is False
    assert "apt-get install g++" in found["missing"]["compiler"]
    sandbox = said(inside, *without, "ipulse_worker.runner.user_code.sandbox_probe", "cpu")
    assert sandbox["state"] == "missing"


class Job(NamedTuple):
    """A spec of a class, and its package, which an assignment names in `field`."""

    spec: dict[str, Any]
    model: str = "ExperimentSpec"
    package: Path | None = None
    field: Callable[[str], dict[str, Any]] = lambda place: {}

    def assignment(self, folder: Path, place: str) -> bytes:
        """Put the package into a folder; return the line for a runner that sees it at `place`."""
        (folder / "work").mkdir()
        given = {"protocol": 1, "job_id": "job_1", "attempt": 1, "work_dir": f"{place}/work"}
        if self.package is not None:
            shutil.copy(self.package, folder / "package.tar")
            given.update(self.field(f"{place}/package.tar"))
        return json.dumps({**given, "spec": resolve(self.model, self.spec)}).encode()


def shortened(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = lower(yaml.safe_load((EXAMPLES / name).read_text("utf-8")))
    spec["data"].update(samples=128, steps=8)
    spec["training"]["epochs"] = 1
    return spec


def digits(folder: Path) -> Job:
    return Job(shortened("digits.yaml"))


def equations(folder: Path) -> Job:
    return Job(shortened("neurons/resonating_digits.yaml"))


def custom_op(folder: Path) -> Job:
    op = packed(project(folder / "op"))
    spec = shortened("ops/pooled_digits.yaml")
    spec["network"]["layers"][1]["op"] = op.reference
    return Job(spec, package=op.path, field=lambda place: {"ops": {op.digest: place}})


def program(folder: Path) -> Job:
    package = folder / "program.tar"
    with package.open("wb") as out:
        write_package(read_folder(EXAMPLES / "poplar").files, out)
    spec = yaml.safe_load((EXAMPLES / "poplar" / "leaky_neurons.yaml").read_text("utf-8"))
    spec["package"] = f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}"
    return Job(spec, "PoplarProgramSpec", package, lambda place: {"start_from": place})


def run_here(job: Job, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    start_server()
    runner = DrivenRunner(folder / "output")
    try:
        runner.write_line(job.assignment(folder, str(folder)))
        assert runner.finish() == 0, runner.printed()
    finally:
        runner.close()
    return results(runner.events, folder / "work")


def run_inside(job: Job, inside: HardenedRoot, name: str) -> dict[str, Any]:
    folder, place = inside.state / name, f"{STATE}/{name}"
    folder.mkdir()
    line = job.assignment(folder, place)
    for each in (folder, *folder.iterdir()):
        os.chown(each, USER, USER)
    variables = runner_environment(
        {"PATH": "/usr/bin:/bin", "HOME": STATE, "IPULSE_CACHE": f"{STATE}/cache"}
    )
    enter = [*inside.enter, *(f"{key}={value}" for key, value in variables.items())]
    with (folder / "events").open("w+b") as events:
        done = subprocess.run(
            [*enter, PYTHON, "-m", "ipulse_worker.runner", "--events-fd", str(events.fileno())],
            input=line + b"\n",
            env={**os.environ, "SEEN": " ".join(SEEN)},
            pass_fds=(events.fileno(),),
            capture_output=True,
            check=False,
            timeout=300,
        )
        events.seek(0)
        assert done.returncode == 0, done.stderr
        return results([json.loads(event) for event in events], folder / "work")


def bring_libraries(state: Path) -> None:
    """Give the root the product's own libraries; what jobs bring is compiled there."""
    cache = state / "cache"
    cache.mkdir(exist_ok=True)
    os.chown(cache, USER, USER)
    for kind in ("kernels", "tensorflow", "sparse", "emulator"):
        for built in cache_directory().glob(f"{kind}-*[0-9a-f]"):  # not its lock
            shutil.copytree(built, cache / built.name, dirs_exist_ok=True)


def results(events: list[dict[str, Any]], work: Path) -> dict[str, Any]:
    """Return what a job leaves, to the bit."""
    assert events[-1]["reason"] == "completed", events[-3:]
    names = [event["path"] for event in events if event["kind"] == "artifact"]
    printed = [event["message"] for event in events if event.get("stream") == "stdout"]
    files = {name: (work / name).read_bytes() for name in names}
    return left(events[-1]["summary"], files, printed)


@pytest.mark.verify
@pytest.mark.parametrize("make", [digits, equations, custom_op, program])
def test_a_job_has_the_bits_of_the_checkout(
    inside: HardenedRoot, tmp_path: Path, make: Callable[[Path], Job]
) -> None:
    job = make(tmp_path)
    here = run_here(job, tmp_path / "here")
    assert here["printed" if make is program else "weights"]
    bring_libraries(inside.state)
    assert run_inside(job, inside, make.__name__) == here
