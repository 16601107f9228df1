"""The next build removes the directory of a build that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

import pytest

from ipulse_core.build_cache.build_once import LEFTOVER_SECONDS, SUFFIX
from ipulse_core.build_cache.shared_library import SharedLibrary
from ipulse_core.build_cache.toolchain import BuildFailed

BUILDS = """
import sys
from pathlib import Path
from ipulse_core.build_cache.build_once import scratch_directory
with scratch_directory(Path(sys.argv[1]), sys.argv[2]) as scratch:
    (scratch / "complete").mkdir()
    (scratch / "complete" / "half.o").touch()
    print(scratch, flush=True)
    sys.stdin.read()
"""


def builder(cache: Path, name: str) -> Tuple[subprocess.Popen[bytes], Path]:
    """Start a process that is in the middle of a build; return it and its directory."""
    started = subprocess.Popen(
        [sys.executable, "-c", BUILDS, str(cache), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert started.stdout is not None
    return started, Path(started.stdout.readline().decode().strip())


def age(path: Path) -> None:
    """Set a path's modification time far into the past."""
    then = path.stat().st_mtime - 2 * LEFTOVER_SECONDS
    os.utime(str(path), (then, then))


def test_the_next_build_removes_unlocked_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, leftover = builder(tmp_path, "kernels")
    killed.kill()
    killed.communicate()
    young = tmp_path / f"sparse-2.6.5-abcdefgh{SUFFIX}"
    young.mkdir()
    others = tmp_path / "executables"
    others.mkdir()
    living, held = builder(tmp_path, "emulator")
    try:
        for path in (leftover, held, others):
            age(path)
        monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
        monkeypatch.setenv("CXX", "false")  # a build may fail: it has removed them before
        monkeypatch.setattr(
            "ipulse_core.build_cache.toolchain.run_compiler", refuse_all_but_its_version
        )
        library = SharedLibrary("other", "libother.so", sources=[], headers=[], flags=[])
        with pytest.raises(BuildFailed):
            library.build()
        assert not leftover.exists()
        left = {path.name for path in tmp_path.iterdir() if path.suffix != ".lock"}
        assert left == {held.name, young.name, others.name}
        assert (held / "complete" / "half.o").exists()
    finally:
        living.communicate()
    assert not held.exists()  # a process that ends normally removes its directory


def refuse_all_but_its_version(command: List[str]) -> str:
    if command[-1] == "--version":
        return "1"
    raise BuildFailed("no")
