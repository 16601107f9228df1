"""An executable cache returns exactly what was stored, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List

import pytest

from ipulse_core.build_cache.executables import SUFFIX, ExecutableCache, key_of
from ipulse_core.build_cache.limits import DAYS_VARIABLE, LIMIT_VARIABLE, Limits

KEY = key_of({"graph": "one"})
OTHER = key_of({"graph": "two"})
EXECUTABLE = bytes(range(256)) * 40 + b"\n{}\n"


class Cache:
    """A cache and its warnings."""

    def __init__(self, directory: Path, limit_bytes: int = 10**6) -> None:
        self.warnings: List[str] = []
        self.cache = ExecutableCache(self.warnings.append, directory, limit_bytes)

    def file(self, key: str = KEY) -> Path:
        return self.cache.directory / f"{key}{SUFFIX}"


@pytest.fixture
def kept(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "executables")
    cache.cache.store(KEY, EXECUTABLE)
    return cache


@pytest.mark.old_python
def test_a_stored_executable_is_loaded(kept: Cache) -> None:
    assert kept.cache.load(KEY) == EXECUTABLE
    assert kept.cache.load(OTHER) is None
    assert kept.warnings == []
    assert [path.name for path in kept.cache.directory.iterdir()] == [kept.file().name]


def test_any_part_makes_another_key() -> None:
    parts = {"op": "a", "tiles": 16, "options": {"x": "1"}}
    keys = {key_of(parts), *(key_of({**parts, name: "changed"}) for name in parts)}
    assert len(keys) == 4
    assert key_of(dict(reversed(list(parts.items())))) in keys


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: content[:-1], "should have"),
        (lambda content: content[:50], "not an executable"),
        (lambda content: b"", "not an executable"),
        (lambda content: content[:-9] + b"X" + content[-8:], "damaged"),
        (lambda content: b"\x7fELF" + content, "not an executable"),
        (lambda content: b"[1]\n" + content, "not an executable"),
        (lambda content: content.replace(KEY.encode(), OTHER.encode()), "something else"),
    ],
)
def test_a_damaged_or_foreign_file_is_ignored_with_a_warning(
    kept: Cache, damage: Callable[[bytes], bytes], words: str
) -> None:
    kept.file().write_bytes(damage(kept.file().read_bytes()))
    assert kept.cache.load(KEY) is None
    (warning,) = kept.warnings
    assert words in warning
    assert str(kept.file()) in warning
    kept.cache.store(KEY, EXECUTABLE)
    assert kept.cache.load(KEY) == EXECUTABLE


def test_a_file_under_another_name_is_ignored(kept: Cache) -> None:
    kept.file().rename(kept.file(OTHER))
    assert kept.cache.load(OTHER) is None
    assert "something else" in kept.warnings[0]


def test_a_file_that_others_may_write_to_is_ignored(kept: Cache) -> None:
    kept.file().chmod(0o666)
    assert kept.cache.load(KEY) is None
    assert "others may write" in kept.warnings[0]


def test_a_pipe_is_not_waited_for(kept: Cache) -> None:
    os.mkfifo(kept.file(OTHER), mode=0o600)
    assert kept.cache.load(OTHER) is None
    assert "it is not a regular file" in kept.warnings[0]


def test_an_unusable_executable_is_removed(kept: Cache) -> None:
    kept.cache.reject(KEY, "parse_error: no")
    assert kept.cache.load(KEY) is None
    assert "parse_error" in kept.warnings[0]


def test_the_least_recently_used_are_removed_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=3 * len(EXECUTABLE))
    keys = [key_of({"number": number}) for number in range(3)]
    hour_ago = time.time() - 3600
    for age, key in enumerate(keys):
        cache.cache.store(key, EXECUTABLE[:-1000])
        os.utime(cache.file(key), (hour_ago + age, hour_ago + age))
    assert cache.cache.load(keys[0])  # used now
    cache.cache.store(KEY, EXECUTABLE)
    left = [key for key in keys if cache.cache.load(key)]
    assert left == [keys[0], keys[2]]
    assert cache.cache.usage().executables == 3
    assert cache.cache.usage().bytes <= 3 * len(EXECUTABLE)


def test_a_partial_file_of_a_dead_process_is_removed(kept: Cache) -> None:
    left = kept.cache.directory / "partial-of-a-dead-process"
    left.write_bytes(b"half")
    kept.cache.store(OTHER, EXECUTABLE)
    assert left.exists()  # its process may be alive
    os.utime(left, (1000, 1000))
    kept.cache.store(OTHER, EXECUTABLE)
    assert not left.exists()


def test_an_executable_above_the_limit_is_still_stored(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=10)
    cache.cache.store(OTHER, EXECUTABLE)
    cache.cache.store(KEY, EXECUTABLE)
    assert cache.cache.load(KEY) == EXECUTABLE
    assert cache.cache.load(OTHER) is None


FILL = """
import sys
from pathlib import Path
from ipulse_core.build_cache.executables import ExecutableCache
cache = ExecutableCache(sys.exit, Path(sys.argv[1]), 10**7)
sys.stdin.readline()
for number in range(100):
    cache.store(sys.argv[2], bytes([number]) * 50_000)
    found = cache.load(sys.argv[2])
    assert found is not None and len(set(found)) == 1 and len(found) == 50_000
"""


def test_concurrent_writers_never_read_a_partial_file(tmp_path: Path) -> None:
    fillers = [
        subprocess.Popen(
            [sys.executable, "-c", FILL, str(tmp_path), KEY],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        for _ in range(2)
    ]
    for filler in fillers:
        assert filler.stdin is not None
        filler.stdin.write(b"\n")
        filler.stdin.close()
    assert [filler.wait() for filler in fillers] == [0, 0]
    assert [path.suffix for path in tmp_path.iterdir()] == [SUFFIX]


@pytest.mark.parametrize("variable", [LIMIT_VARIABLE, DAYS_VARIABLE])
def test_an_invalid_limit_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "2GB")
    with pytest.raises(ValueError, match=variable):
        ExecutableCache(print)


def test_executables_unused_for_long_are_removed(kept: Cache) -> None:
    """The size limit plays no role; recently used executables stay."""
    kept.cache.store(OTHER, EXECUTABLE)
    now = time.time()
    os.utime(kept.file(), (now - 91 * 86_400, now - 91 * 86_400))
    (gone,) = kept.cache.prune(Limits.of_environment())
    assert gone.path == kept.file()
    assert kept.cache.load(OTHER) == EXECUTABLE
