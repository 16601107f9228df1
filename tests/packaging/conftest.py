"""Distributions of this checkout, and fresh environments in which they are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
PACKAGES = {
    "core": "ipulse_core",
    "emulator": "poplar_emulator",
    "ipu-tensorflow-emulator": "ipu_tensorflow_emulator",
    "ops": "ipulse_ops",
    "worker": "ipulse_worker",
    "service": "ipulse_service",
    ".": "ipulse",
}


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
    """A fresh virtual environment outside the checkout, with locked versions of dependencies.

    Without a lock it has the newest ones.
    """

    def __init__(
        self,
        folder: Path,
        dist: Path,
        python: Path = Path(sys.executable),
        lock: Path | None = ROOT / "requirements" / "runtime.txt",
    ) -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        self._dist = dist
        self._lock = () if lock is None else ("--constraint", lock)
        run(UV, "venv", "--python", python, folder / "env")

    def install(self, *requirements: str) -> None:
        source = ("--find-links", self._dist, *self._lock, "--system-certs")
        # uv would otherwise install a wheel of the same version from an earlier run.
        fresh = [f"--refresh-package={name.replace('_', '-')}" for name in PACKAGES.values()]
        python = ("--python", self.bin / "python")
        run(UV, "pip", "install", *python, *source, *fresh, *requirements)

    def python(self, *arguments: object) -> str:
        return self.run(self.bin / "python", *arguments)

    def run(self, *command: object, **more: str) -> str:
        variables = {
            **more,
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
