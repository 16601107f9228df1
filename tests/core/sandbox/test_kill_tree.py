"""The end of a process takes along what it starts at that moment."""

from __future__ import annotations

import secrets
import subprocess
import time
from pathlib import Path
from typing import List

import pytest

from ipulse_core.sandbox.processes import kill_tree


def marked(mark: str) -> List[int]:
    """Return the ids of the processes with a variable of this value."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.1])
def test_no_child_is_left(seconds: float) -> None:
    mark = secrets.token_hex(16)
    forks = "for each in $(seq 400); do (sleep 60; sleep 60) & done; wait"
    started = subprocess.Popen(["sh", "-c", forks], env={"MARK": mark, "PATH": "/usr/bin:/bin"})
    time.sleep(seconds)
    kill_tree(started.pid)
    started.wait()
    deadline = time.monotonic() + 20
    while marked(mark) and time.monotonic() < deadline:  # those that are killed still end
        time.sleep(0.01)
    assert marked(mark) == []
