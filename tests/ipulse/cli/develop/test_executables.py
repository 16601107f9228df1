"""`ipulse cache`, which asks the operators' own module."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.build_cache.executables import ExecutableCache, key_of
from tests.ipulse.cli.conftest import Run


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExecutableCache:
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    kept = ExecutableCache(print)
    kept.store(key_of({"graph": "one"}), b"executable")
    return kept


def test_lists_and_removes(offline: Run, cache: ExecutableCache) -> None:
    listed = offline("cache", "list")
    assert listed.code == 0, listed.err
    assert key_of({"graph": "one"})[:16] in listed.out
    assert "2.0 GiB" in listed.out
    assert "90 days" in listed.out
    pruned = offline("cache", "prune", "--bytes", "0", "--yes", "--json")
    assert [row["key"] for row in pruned.json["removed"]] == [key_of({"graph": "one"})]
    assert pruned.json["executables"] == []
    assert cache.entries() == []


def test_an_invalid_limit_is_reported(
    offline: Run, cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPULSE_EXECUTABLE_BYTES", "2GB")
    ran = offline("cache", "list")
    assert ran.code == 2
    assert "IPULSE_EXECUTABLE_BYTES" in ran.err
