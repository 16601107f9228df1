"""The simulators, installed from a hashed lock into a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from pathlib import Path

from tests.acceptance.generated_clients.generators import ROOT, run

HERE = Path(__file__).parent
_LOCK = ROOT / "requirements" / "simulators.txt"


class Simulators:
    """A Python with PyTorch, snnTorch and Norse, which knows nothing of IPUlse."""

    def __init__(self) -> None:
        digest = hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:16]
        cache = Path(os.environ.get("IPULSE_CACHE", Path.home() / ".cache" / "ipulse"))
        self.folder = cache / "simulators" / digest
        self.python = self.folder / "env" / "bin" / "python"

    def install(self) -> None:
        """Installs what is not there yet; of several processes one does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = self.folder / "complete"
            if stamp.exists():
                return
            # pip, because PyTorch's builds for CPUs are where its configuration finds them.
            run(sys.executable, "-m", "venv", "--clear", self.folder / "env")
            run(self.python, "-m", "pip", "install", "--require-hashes", "-r", _LOCK)
            stamp.touch()

    def simulate(
        self, target: str, graph: Path, inputs: Path, outputs: Path, *words: object
    ) -> str:
        """Runs a graph on the spikes in a file; see program.py."""
        program = HERE / "program.py"
        return run(self.python, program, target, graph, inputs, outputs, *words, folder=HERE)
