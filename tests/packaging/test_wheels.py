"""Each distribution builds, passes `twine check`, and works alone in a fresh environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
PACKAGES = {
    "core": "ipulse_core",
    "emulator": "poplar_emulator",
    "ops": "ipulse_ops",
    "worker": "ipulse_worker",
    "service": "ipulse_service",
    ".": "ipulse",
}
# A network that learns in seconds, over HTTP, on the whole stack.
SPEC = """\
version: 1
name: wheel
data: {kind: digits, samples: 300}
network: {layers: [{neurons: 32}]}
training: {epochs: 2}
"""

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(900)]


def run(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive and the wheel of every distribution."""
    folder = tmp_path_factory.mktemp("dist")
    for package in PACKAGES:
        run(sys.executable, "-m", "build", "--no-isolation", "-o", folder, ROOT / package)
    return folder


class Environment:
    """A fresh virtual environment outside the checkout, with locked versions of dependencies."""

    def __init__(self, folder: Path, dist: Path) -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        self._dist = dist
        run(UV, "venv", "--python", sys.executable, folder / "env")

    def install(self, *requirements: str) -> None:
        lock = ROOT / "requirements" / "runtime.txt"
        source = ("--find-links", self._dist, "--constraint", lock, "--system-certs")
        # uv would otherwise install a wheel of the same version from an earlier run.
        fresh = [f"--refresh-package={name.replace('_', '-')}" for name in PACKAGES.values()]
        python = ("--python", self.bin / "python")
        run(UV, "pip", "install", *python, *source, *fresh, *requirements)

    def python(self, *arguments: object) -> str:
        return self.run(self.bin / "python", *arguments)

    def run(self, *command: object) -> str:
        variables = {
            "PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.folder),
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        return run(*command, cwd=self.folder, env=variables)

    def has(self, module: str) -> bool:
        code = f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
        return self.python("-c", code).strip() == "True"


@pytest.fixture
def environment(tmp_path: Path, dist: Path) -> Environment:
    return Environment(tmp_path, dist)


def test_archives_are_complete(dist: Path) -> None:
    archives = sorted(dist.iterdir())
    assert len(archives) == 2 * len(PACKAGES)
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)


@pytest.mark.parametrize("package", PACKAGES.values())
def test_a_wheel_installs_one_package_and_nothing_else(package: str, dist: Path) -> None:
    (wheel,) = dist.glob(f"{package}-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".libs"))} == {package}
    assert not [name for name in names if name.endswith((".pyc", ".o"))]


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("ipulse_ops", "ipulse_ops/lif/cpu/shipped/liblif.so"),
        ("poplar_emulator", "poplar_emulator/shipped/lib/libpoplar.so"),
        ("ipulse_worker", "ipulse_worker/runner/report/templates/page.html"),
        ("ipulse", "ipulse/examples/digits.yaml"),
    ],
)
def test_a_wheel_contains_more_than_python(package: str, file: str, dist: Path) -> None:
    (wheel,) = dist.glob(f"{package}-*.whl")
    assert file in zipfile.ZipFile(wheel).namelist()


def test_the_ops_train_in_plain_keras(environment: Environment) -> None:
    environment.install("ipulse-ops", "scikit-learn")
    example = shutil.copy(ROOT / "examples" / "keras_alone.py", environment.folder)
    assert "accuracy" in environment.python(example)
    assert not any(map(environment.has, ("fastapi", "pydantic", "celery", "ipulse")))


def test_the_emulator_runs_a_poplar_program(environment: Environment) -> None:
    environment.install("poplar-emulator")
    for name in ("matrix_vector.cpp", "leaky_codelets.cpp"):
        shutil.copy(ROOT / "examples" / "poplar" / name, environment.folder)
    files = ("matrix_vector.cpp", "--codelets", "leaky_codelets.cpp")
    output = environment.python("-m", "poplar_emulator", *files)
    assert "Total cycles:" in output
    assert "building the emulator" not in output  # the wheel contains it
    assert not any(map(environment.has, ("tensorflow", "fastapi", "ipulse", "ipulse_ops")))


def test_the_client_comes_without_the_service(environment: Environment) -> None:
    environment.install("ipulse[cli]")
    (environment.folder / "spec.yaml").write_text(SPEC)
    environment.run(environment.bin / "ipulse", "validate", "spec.yaml")
    assert not any(map(environment.has, ("fastapi", "tensorflow", "celery", "sqlalchemy")))


def test_the_whole_stack_runs_the_demo(environment: Environment) -> None:
    environment.install("ipulse[all]")
    (environment.folder / "spec.yaml").write_text(SPEC)
    environment.run(environment.bin / "ipulse", "demo", "--spec", "spec.yaml", "--to", "out")
    assert list((environment.folder / "out").rglob("report.html"))
