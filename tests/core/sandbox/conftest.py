"""A place for a program in a sandbox."""

import os
from pathlib import Path
from typing import Iterator, List

import pytest

from ipulse_core.sandbox.processes import tree_of
from tests.core.sandbox.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    tmp_path.chmod(0o700)
    yield Place(tmp_path)
    assert tree_of(os.getpid()) == [os.getpid()] or not _sandboxes()


def _sandboxes() -> List[str]:
    found = []
    for pid in tree_of(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"bwrap" in command:
            found.append(command.decode(errors="replace"))
    return found
