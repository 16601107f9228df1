"""The peers' virtual environments: made on first use, one per requirements-<name>.txt."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from ipulse_ops.lif.cpu.native import cache_directory

REQUIREMENTS = Path(__file__).resolve().parent


class MissingEnvironment(RuntimeError):
    """A peer's environment cannot be made here."""


def python_of(name: str, folder: Path = REQUIREMENTS) -> Path:
    """The Python of environment `name`, made with pip if it is not there.

    Lies under $IPULSE_CACHE, else ~/.cache/ipulse, by the digest of its requirements.
    Raises MissingEnvironment with pip's complaint.
    """
    requirements = folder / f"requirements-{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = cache_directory() / "peers" / f"{name}-{digest}"
    python = home / "bin" / "python"
    complete = home / "complete"
    if complete.exists():
        return python
    print(f"installing the {name} peers' packages (up to 2 GB) ...", file=sys.stderr, flush=True)
    venv.create(home, with_pip=True, clear=True)
    # What is pinned first decides what the later packages may bring along.
    first = next(line for line in requirements.read_text().splitlines() if "==" in line)
    _pip(name, python, [first])
    _pip(name, python, ["-r", str(requirements)])
    complete.touch()
    return python


def _pip(name: str, python: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise MissingEnvironment(
            f"pip could not install {arguments[-1]} for the {name} peers: "
            + (complaints[0] if complaints else f"it ended with {done.returncode}")
        )
