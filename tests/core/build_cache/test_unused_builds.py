"""Which builds of the cache are removed, and which never are."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Any, List, Set

import pytest

from ipulse_core.build_cache.build_once import scratch_directory
from ipulse_core.build_cache.limits import LIMIT_DAYS
from ipulse_core.build_cache.lock import lock_of, locked
from ipulse_core.build_cache.unused_builds import mark_used, remove_unused

OLD = time.time() - (LIMIT_DAYS + 1) * 24 * 3600
HASHES = "0123456789abcdef-fedcba9876543210"


def build(cache: Path, name: str = f"kernels-{HASHES}") -> Path:
    """Make a build that was last used long ago, and its lock."""
    directory = cache / name
    (directory / "lib").mkdir(parents=True)
    for path in (lock_of(directory), directory / "lib" / "liblif.so"):
        path.touch()
        os.utime(str(path), (OLD, OLD))
    for path in (directory / "lib", directory):
        os.utime(str(path), (OLD, OLD))
    return directory


def names(cache: Path) -> Set[str]:
    return {path.name for path in cache.iterdir()}


def test_a_build_removes_unused_builds_and_their_locks(tmp_path: Path) -> None:
    build(tmp_path)
    build(tmp_path, "emulator-0123456789abcdef")
    orphan = tmp_path / f"tensorflow-2.6.5-{HASHES}.lock"
    orphan.touch()
    os.utime(str(orphan), (OLD, OLD))
    for kept in ("executables", "peers", "kernels-0123"):  # no builds
        build(tmp_path, kept)
    with scratch_directory(tmp_path, "sparse") as scratch:
        left = names(tmp_path)
    kept = {"executables", "peers", "kernels-0123"}
    assert left == {scratch.name, *kept, *(f"{name}.lock" for name in kept)}


@pytest.mark.parametrize("sign", ["looked for", "opened", "in use"])
def test_a_used_build_stays(tmp_path: Path, sign: str) -> None:
    directory = build(tmp_path)
    if sign == "looked for":
        assert mark_used(directory)
    if sign == "opened":  # by a version that does not say so, as the file system notes it
        os.utime(str(directory / "lib" / "liblif.so"), (time.time(), OLD))
    with lock_of(directory).open("r") as lock:
        if sign == "in use":
            fcntl.flock(lock, fcntl.LOCK_SH)
        remove_unused(tmp_path)
        assert (directory / "lib" / "liblif.so").exists()
    if sign == "in use":
        remove_unused(tmp_path)
        assert names(tmp_path) == set()
        assert not mark_used(directory)


def test_a_build_used_during_its_removal_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, rename = build(tmp_path), Path.rename

    def used_just_before(path: Path, target: Path) -> Path:
        os.utime(str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", used_just_before)
    remove_unused(tmp_path)
    assert names(tmp_path) == {directory.name, f"{directory.name}.lock"}


def test_a_removed_lock_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, flock = tmp_path / "kernels.lock", fcntl.flock
    removed: List[Path] = []

    def removed_while_waiting(file: Any, kind: int) -> None:
        if not removed:
            path.unlink()
            removed.append(path)
        flock(file, kind)

    monkeypatch.setattr(fcntl, "flock", removed_while_waiting)
    with locked(path):
        assert removed
        with path.open("r") as other, pytest.raises(BlockingIOError):
            flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
