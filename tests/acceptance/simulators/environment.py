"""The simulators, installed from a hashed lock into a cache."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.acceptance.locked_tools import ROOT, cache_folder, installing, run

HERE = Path(__file__).parent
_LOCK = ROOT / "requirements" / "simulators.txt"
_APART = ROOT / "requirements" / "simulators-apart.txt"


class Simulators:
    """A Python with PyTorch and four simulators, which knows nothing of IPUlse."""

    def __init__(self) -> None:
        self.folder = cache_folder("simulators", _LOCK, _APART)
        self.apart = self.folder / "apart"
        self.python = self.folder / "env" / "bin" / "python"

    def install(self) -> None:
        """Installs what is not there yet; of several processes one does."""
        with installing(self.folder) as is_needed:
            if not is_needed:
                return
            # pip, because PyTorch's builds for CPUs are where its configuration finds them.
            run(sys.executable, "-m", "venv", "--clear", self.folder / "env")
            install = (self.python, "-m", "pip", "install", "--require-hashes")
            run(*install, "-r", _LOCK)
            run(*install, "--no-deps", "--target", self.apart, "-r", _APART)

    def simulate(
        self, target: str, graph: Path, inputs: Path, outputs: Path, *words: object
    ) -> str:
        """Runs a graph on the spikes in a file; see program.py."""
        program = HERE / "program.py"
        return run(
            self.python, program, self.apart, target, graph, inputs, outputs, *words, folder=HERE
        )

    def benchmark(
        self, networks: list[dict[str, Any]], arrays: dict[str, np.ndarray], folder: Path
    ) -> list[dict[str, float]]:
        """Returns what NeuroBench says of networks; see neurobench_program.py."""
        described, inputs, outputs = (folder / name for name in ("a.json", "a.npz", "out.json"))
        described.write_text(json.dumps(networks))
        np.savez(inputs, **arrays)
        program = HERE / "neurobench_program.py"
        run(self.python, program, self.apart, described, inputs, outputs, folder=HERE)
        found: list[dict[str, float]] = json.loads(outputs.read_text())
        return found

    def write(self, kind: str, graph: Path, outputs: Path) -> None:
        """Makes a graph with a simulator, and runs it there; see writer.py."""
        run(self.python, HERE / "writer.py", self.apart, kind, graph, outputs, folder=HERE)
