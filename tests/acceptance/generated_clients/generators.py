"""The generators of clients, installed from hashed locks into a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
UV = Path(sys.executable).with_name("uv")
_LOCKS = (
    ROOT / "requirements" / "generators.txt",
    HERE / "package.json",
    HERE / "package-lock.json",
)


def run(*command: object, environment: Mapping[str, str] | None = None, folder: Path = HERE) -> str:
    """Runs a program to its end and returns what it printed. Fails with it."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{command[0]} ended with {done.returncode}:\n{done.stdout[-6000:]}"
    )
    return done.stdout


class Generators:
    """Node, Python and the generators, of the locked versions."""

    def __init__(self) -> None:
        digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in _LOCKS)).hexdigest()[:16]
        cache = Path(os.environ.get("IPULSE_CACHE", Path.home() / ".cache" / "ipulse"))
        self.folder = cache / "generators" / digest
        self.bin = self.folder / "env" / "bin"
        self.modules = self.folder / "node_modules"

    def install(self) -> None:
        """Installs what is not there yet; of several processes one does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = self.folder / "complete"
            if stamp.exists():
                return
            python = ("--python", self.bin / "python")
            run(UV, "venv", "--clear", "--python", sys.executable, self.folder / "env")
            run(
                UV, "pip", "install", "--system-certs", *python, "--require-hashes", "-r", _LOCKS[0]
            )
            for name in _LOCKS[1:]:
                shutil.copy(name, self.folder)
            quiet = ("--ignore-scripts", "--no-audit", "--no-fund")
            self.run("npm", "ci", *quiet, folder=self.folder)
            stamp.touch()

    def run(self, name: str, *arguments: object, folder: Path = HERE, **environment: object) -> str:
        """Runs one of the installed programs."""
        places = (self.modules / ".bin", self.bin, os.environ["PATH"])
        program = next(place / name for place in places[:2] if (place / name).exists())
        variables = {name: str(value) for name, value in environment.items()}
        path = {"PATH": os.pathsep.join(map(str, places)), "NO_COLOR": "1"}
        return run(program, *arguments, environment={**path, **variables}, folder=folder)
