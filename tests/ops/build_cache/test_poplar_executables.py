"""What TensorFlow keeps for IPUs goes when nobody uses it, and never while somebody does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core import strict_json
from ipulse_core.build_cache.executables import ExecutableCache, key_of
from ipulse_core.build_cache.limits import Limits
from ipulse_ops.build_cache import kept_executables
from ipulse_ops.build_cache.poplar_executables import PoplarExecutables

NOTHING = Limits(bytes=0, days=0.0)
USER = """
import sys
from pathlib import Path
from ipulse_ops.build_cache.poplar_executables import PoplarExecutables
used = PoplarExecutables(Path(sys.argv[1])).use("used")
print(used.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PoplarExecutables:
    """Of 100, 200 and 300 bytes, used three, two and one days ago."""
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    cache = PoplarExecutables()
    for number, name in enumerate(("old", "used", "new"), start=1):
        with_lock = cache.use(name)
        (with_lock.path / "1f.poplar_exec").write_bytes(bytes(100 * number))
        with_lock.close()
        days_ago = time.time() - (4 - number) * 86_400
        os.utime(with_lock.path, (days_ago, days_ago))
    return cache


def names(cache: PoplarExecutables) -> Any:
    return [entry.path.name for entry in sorted(cache.entries())]


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (Limits(600, 90), ["old", "used", "new"]),
        (Limits(500, 90), ["used", "new"]),
        (Limits(600, 1.5), ["new"]),
        (NOTHING, []),
    ],
)
def test_the_longest_unused_go_first(kept: PoplarExecutables, limits: Limits, left: Any) -> None:
    kept.prune(limits)
    assert names(kept) == left


def test_what_is_in_use_stays(kept: PoplarExecutables) -> None:
    """A directory that another process uses until it ends, with a new time of use."""
    command = [sys.executable, "-c", USER, str(kept.directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        assert user.stdout.readline().decode().strip() == str(kept.directory / "used")
        assert names(kept) == ["old", "new", "used"]
        assert [kept.is_in_use(entry) for entry in sorted(kept.entries())] == [False, False, True]
        kept.prune(NOTHING)
        assert names(kept) == ["used"]
        user.kill()
        user.wait()
        kept.prune(NOTHING)
        assert names(kept) == []
    assert kept.use("used").path.is_dir()  # made anew


def test_both_caches_are_listed_and_pruned(
    kept: PoplarExecutables, capsys: pytest.CaptureFixture[str]
) -> None:
    ExecutableCache(print).store(key_of({"graph": "one"}), b"executable")

    def run_json(*arguments: str) -> Dict[str, Any]:
        assert kept_executables.main(list(arguments)) == 0
        output: Dict[str, Any] = strict_json.loads(capsys.readouterr().out)
        return output

    listed = run_json()
    assert [row["key"] for row in listed["executables"]] == [
        *(key_of({"graph": "one"}), "old", "used", "new")
    ]
    assert listed["bytes"] > 610
    assert listed["removed"] == []
    pruned = run_json("--prune", "--days", "1.5")
    assert [row["key"] for row in pruned["removed"]] == ["old", "used"]
    assert [row["device"] for row in pruned["executables"]] == ["emulator", "ipu"]


def test_a_limit_that_is_none_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IPULSE_EXECUTABLE_DAYS", "soon")
    assert kept_executables.main([]) == 2
    assert "IPULSE_EXECUTABLE_DAYS must be a number of days; got 'soon'" in capsys.readouterr().err
