"""Small disks in memory, which a test can fill, and where groups of few processes are made."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

PIDS = Path("/sys/fs/cgroup/pids")


@contextmanager
def small_disk(path: Path, options: str) -> Iterator[Path]:
    """Mount a file system in memory at a new folder; skip the test without the right to."""
    path.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("mounting a small disk needs root and CAP_SYS_ADMIN")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> Path:
    """Use every free byte of a disk; the returned file holds them."""
    filler = path / ".filler"
    with filler.open("wb", buffering=0) as file:
        size = 2**20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    return filler
