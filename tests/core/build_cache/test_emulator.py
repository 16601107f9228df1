"""The emulator's prefix says what it was built from."""

from itertools import count
from pathlib import Path
from typing import Any, Sequence

import pytest

from poplar_emulator import build as emulator


def _write_output(command: Sequence[str], *args: Any) -> None:
    if "-o" in command:
        Path(command[command.index("-o") + 1]).write_text("")


def test_sources_that_change_during_a_build_do_not_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise programs of the older sources are kept under the name of the newer ones."""
    versions = count()
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
    monkeypatch.setattr(emulator, "_recipe", lambda flags: f"version {next(versions)}")
    monkeypatch.setattr(emulator, "run_compiler", _write_output)
    prefix = emulator.build()
    assert prefix.name == f"emulator-{emulator.fingerprint(prefix)}"
