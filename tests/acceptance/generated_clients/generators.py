"""The generators of clients, installed from hashed locks into a cache."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.acceptance.locked_tools import ROOT, cache_folder, installing, run

HERE = Path(__file__).parent
UV = Path(sys.executable).with_name("uv")
_LOCKS = (
    ROOT / "requirements" / "generators.txt",
    HERE / "package.json",
    HERE / "package-lock.json",
)


class Generators:
    """Node, Python and the generators, of the locked versions."""

    def __init__(self) -> None:
        self.folder = cache_folder("generators", *_LOCKS)
        self.bin = self.folder / "env" / "bin"
        self.modules = self.folder / "node_modules"

    def install(self) -> None:
        """Installs what is not there yet; of several processes one does."""
        with installing(self.folder) as is_needed:
            if not is_needed:
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

    def run(self, name: str, *arguments: object, folder: Path = HERE, **environment: object) -> str:
        """Runs one of the installed programs."""
        places = (self.modules / ".bin", self.bin, os.environ["PATH"])
        program = next(place / name for place in places[:2] if (place / name).exists())
        variables = {name: str(value) for name, value in environment.items()}
        path = {"PATH": os.pathsep.join(map(str, places)), "NO_COLOR": "1"}
        return run(program, *arguments, environment={**path, **variables}, folder=folder)
