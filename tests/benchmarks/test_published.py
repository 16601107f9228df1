"""The emulator's cycles stay near published ones."""

from __future__ import annotations

import pytest

from benchmarks.emulator import published
from ipulse_core.pva.band import FACTOR, SHARE


@pytest.mark.verify
def test_the_check_fails_if_cycles_are_not_near(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = published.measure()
    # What users see: not below what the kernels say, and not far above it.
    assert published.band_factor(row["ratio"] for row in rows) == pytest.approx(FACTOR, abs=0.05)
    inside = [row["inside"] == "yes" for row in published.leave_out(rows)]
    assert sum(inside) >= SHARE * len(inside)
    monkeypatch.setattr(published, "measure", lambda: rows)
    assert published.main(["--check"]) == 0
    monkeypatch.setattr(published, "WORST", 1.01)
    assert published.main(["--check"]) == 1


def test_a_band_is_judged_by_the_other_figures() -> None:
    rows = [
        {"source": source, "published (cycles)": size, "emulated (cycles)": size * ratio}
        | {"ratio": ratio}
        for source, size, ratio in (("a", 10, 1.0), ("a", 100, 1.1), ("b", 1000, 0.5), ("c", 9, 1))
    ]
    assert published.band_factor([1.0, 0.5, 1.1]) == 2.0
    assert [row["inside"] for row in published.leave_out(rows)] == ["yes", "yes", "no", "yes"]
    assert published.ordered(rows) == (5, 5)
