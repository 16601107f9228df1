"""The emulator's cycles stay near published ones, and its page has the figures of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.emulator import published

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "cost_model.md"


@pytest.mark.verify
def test_the_page_has_the_figures_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = published.measure()
    monkeypatch.setattr(published, "measure", lambda: rows)
    assert published.main(["--check"]) == 0
    page = PAGE.read_text("utf-8")
    for row in rows:
        cycles = (f"{row[name]:,}" for name in ("published (cycles)", "emulated (cycles)"))
        assert f"| {' | '.join(cycles)} | {row['ratio']:.2f} |" in page
    monkeypatch.setattr(published, "WORST", 1.01)
    assert published.main(["--check"]) == 1
