"""Graphs of many small parts are built, checked and compiled in time like n log n."""

from __future__ import annotations

import pytest

from benchmarks.emulator import scaling


@pytest.mark.verify
def test_compilation_grows_like_n_log_n(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = scaling.measure()
    monkeypatch.setattr(scaling, "measure", lambda: rows)
    assert len(rows) == 7
    assert scaling.main(["--check"]) == 0, rows
    monkeypatch.setattr(scaling, "WORST", 0.0)
    assert scaling.main(["--check"]) == 1
