"""Uploaded data sets in the cache of an agent."""

from __future__ import annotations

import errno
import hashlib
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_core.errors import RemoteError
from ipulse_worker.agent.datasets.dataset_cache import DatasetCache, Fill


def digest(number: int) -> str:
    return hashlib.sha256(bytes([number])).hexdigest()


def filler(size: int) -> Fill:
    def fill(folder: Path) -> None:
        (folder / "data.npz").write_bytes(bytes(size))

    return fill


def refuse(_folder: Path) -> None:
    raise AssertionError("it is there already")


def never(_seconds: float) -> bool:
    raise AssertionError("nobody else has the lock")


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path, 1000)
    with cache.use(digest(1), filler(10), never) as first:
        assert (first / "data.npz").stat().st_mode & 0o222 == 0
        with DatasetCache(tmp_path, 1000).use(digest(1), refuse, never) as second:
            assert second == first
    assert cache.digests() == [digest(1)]


def test_n25_those_unused_for_longest_go_first_and_none_in_use(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path, 250)
    with cache.use(digest(1), filler(100), never) as used:
        for number in (2, 3):
            with cache.use(digest(number), filler(100), never):
                pass
        assert used.exists()
        assert cache.digests() == sorted([digest(1), digest(3)])
        cache.shrink(0)
        assert cache.digests() == [digest(1)]
        assert (used / "data.npz").exists()
    cache.shrink(0)
    assert cache.digests() == []


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 120)), max_size=20))
def test_n25_a_cache_takes_at_most_its_limit_and_a_file(uses: list[tuple[int, int]]) -> None:
    """Attempts of one agent come one after the other; each has its data set as long as it runs."""
    with TemporaryDirectory() as folder:
        cache = DatasetCache(Path(folder), 250)
        for number, size in uses:
            with cache.use(digest(number), filler(size), never) as used:
                cache.shrink()
                own = (used / "data.npz").stat().st_size
                assert bytes_in(Path(folder)) <= 250 + own
            assert bytes_in(Path(folder)) <= 250


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*/data.npz"))


def test_a_failed_download_leaves_nothing(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path, 1000)

    def fail(folder: Path) -> None:
        (folder / "download").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"), cache.use(digest(1), fail, never):
        pass
    assert cache.digests() == []
    with cache.use(digest(1), filler(5), never) as folder:
        assert [path.name for path in folder.iterdir()] == ["data.npz"]


def test_one_downloads_and_the_others_wait(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()
    made: list[Path] = []
    waited = threading.Event()

    def slow(folder: Path) -> None:
        made.append(folder)
        begun.set()
        assert may_end.wait(60)
        filler(5)(folder)

    def pause(_seconds: float) -> bool:
        waited.set()
        return may_end.wait(0.01) and False

    def use(fill: Fill) -> None:
        with DatasetCache(tmp_path, 1000).use(digest(1), fill, pause):
            pass

    first = threading.Thread(target=use, args=(slow,))
    first.start()
    assert begun.wait(60)
    second = threading.Thread(target=use, args=(refuse,))
    second.start()
    assert waited.wait(60)
    may_end.set()
    for thread in (first, second):
        thread.join(60)
        assert not thread.is_alive()
    assert len(made) == 1


def test_who_waits_can_give_up(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path, 1000)

    def fill(folder: Path) -> None:
        with pytest.raises(RemoteError), cache.use(digest(1), refuse, lambda seconds: True):
            pass
        filler(5)(folder)

    with cache.use(digest(1), fill, never) as folder:
        assert folder.exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "A" * 64, "0" * 63, f"{'0' * 64}/x"])
def test_no_other_name_becomes_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(RemoteError), DatasetCache(tmp_path / "c", 1).use(name, refuse, never):
        pass
    assert not (tmp_path / "c").exists()
