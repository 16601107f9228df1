"""Programs of others, installed from hashed locks into a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def cache_folder(name: str, *locks: Path) -> Path:
    """Returns the folder for programs of these locks: another lock, another folder."""
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:16]
    cache = Path(os.environ.get("IPULSE_CACHE", Path.home() / ".cache" / "ipulse"))
    return cache / name / digest


@contextmanager
def installing(folder: Path) -> Iterator[bool]:
    """Yields whether to install into the folder; other processes wait until that is done."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "complete"
        yield not stamp.exists()
        stamp.touch()


def run(*command: object, environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> str:
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
