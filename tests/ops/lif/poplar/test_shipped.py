"""The op of a wheel is taken where it is for the emulator of this environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.build_cache.shipped import RECIPE_FILE, ship
from ipulse_ops.lif.poplar import build
from poplar_emulator import build as emulator


def test_a_shipped_op_is_used_only_for_its_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = build.build()
    folder = tmp_path / "shipped"
    ship(cached.library.parent, folder, build.recipe(emulator.build()))
    monkeypatch.setattr(build, "SHIPPED", folder)
    monkeypatch.setattr(build, "_built", {})
    found = build.build()
    assert found.library == folder / cached.library.name
    assert found.codelets == folder / cached.codelets.name
    (folder / RECIPE_FILE).write_text("of another emulator")
    monkeypatch.setattr(build, "_built", {})
    assert build.build() == cached
