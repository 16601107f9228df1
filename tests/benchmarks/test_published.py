"""The emulator's cycles stay near published ones."""

from __future__ import annotations

import pytest

from benchmarks.emulator import published


@pytest.mark.verify
def test_the_check_fails_if_cycles_are_not_near(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = published.measure()
    monkeypatch.setattr(published, "measure", lambda: rows)
    assert published.main(["--check"]) == 0
    monkeypatch.setattr(published, "WORST", 1.01)
    assert published.main(["--check"]) == 1
