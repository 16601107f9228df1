"""Removal of builds of custom ops from the cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

import pytest

from ipulse_core.build_cache.limits import Limits
from ipulse_core.build_cache.op_builds import LIMIT_VARIABLE, OpBuilds, hold, limits_of_op_builds

SIZE = 1000


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> List[Path]:
    """Four builds of ops, the least recently used first; the cache also has a build of kernels."""
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    cache = OpBuilds().directory
    cache.mkdir(parents=True, exist_ok=True)
    made = []
    for number in range(4):
        folder = cache / f"op-{number:016x}-{number:016x}"
        folder.mkdir()
        (folder / "kernel.so").write_bytes(bytes(SIZE))
        os.utime(str(folder), (10**9 + number, 10**9 + number))
        made.append(folder)
    (cache / f"kernels-{0:016x}").mkdir()
    return made


def kept(builds: List[Path]) -> List[int]:
    return [number for number, build in enumerate(builds) if build.exists()]


def test_the_least_recently_used_builds_go(builds: List[Path]) -> None:
    used = hold(builds[0])
    assert used is not None
    used.close()
    gone = OpBuilds().prune(Limits(2 * SIZE, days=10**9))
    assert [entry.path for entry in gone] == builds[1:3]
    assert kept(builds) == [0, 3]
    assert (builds[0].parent / f"kernels-{0:016x}").exists()


def test_a_build_in_use_stays(builds: List[Path]) -> None:
    held = hold(builds[1])
    assert held is not None
    in_use = {entry.path for entry in OpBuilds().entries() if OpBuilds().is_in_use(entry)}
    assert in_use == {builds[1]}
    OpBuilds().prune(Limits(0, days=10**9))
    assert kept(builds) == [1]
    held.close()
    OpBuilds().prune(Limits(0, days=10**9))
    assert kept(builds) == []


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "123")
    assert limits_of_op_builds().bytes == 123
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(ValueError, match=LIMIT_VARIABLE):
        limits_of_op_builds()
