"""Make the virtual environments of peers on first use, one per requirements-<name>.txt."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from ipulse_core.build_cache.directory import cache_directory


class MissingEnvironment(RuntimeError):
    """A peer's environment cannot be made on this machine."""


def python_of(name: str, folder: Path) -> Path:
    """Return the Python of environment `name`, installing it with pip if it is missing.

    It is stored under $IPULSE_CACHE, else ~/.cache/ipulse, by the hash of its requirements.
    Raises MissingEnvironment with pip's message.
    """
    requirements = folder / f"requirements-{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = cache_directory() / "peers" / f"{name}-{digest}"
    python = home / "bin" / "python"
    complete = home / "complete"
    if complete.exists():
        return python
    print(f"installing the packages of {name} (up to 2 GB) ...", file=sys.stderr, flush=True)
    venv.create(home, with_pip=True, clear=True)
    # The package that is pinned first decides which builds the later ones may use.
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
        messages = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise MissingEnvironment(
            f"pip could not install {arguments[-1]} for {name}: "
            + (messages[0] if messages else f"exit code {done.returncode}")
        )
