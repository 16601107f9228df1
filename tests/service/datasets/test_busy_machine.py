"""A document that a busy machine did not read in time is not called bad."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ipulse_core.errors import Unavailable
from ipulse_service.datasets import checking
from ipulse_service.reading import isolation
from ipulse_service.reading.isolation import Isolation
from ipulse_service.reading.reader import DocumentReader, Kind, Unreadable

WAITS = "import time\ntime.sleep(60)\n"
NONE = Isolation(is_required=False, environment={"IPULSE_SANDBOX": "none"})
COMPUTES = """
from ipulse_core.sandbox.limited_process import limit_process
limit_process(cpu_seconds=1)
while True: pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that runs in place of every module."""
    path = tmp_path / "module.py"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{path}"\n')
    program.chmod(0o755)
    monkeypatch.setattr(isolation, "_PYTHON", [str(program)])
    return path


def test_a_reader_that_waited_is_no_verdict(module: Path, tmp_path: Path) -> None:
    reader = DocumentReader(tmp_path / "scratch", NONE)
    module.write_text(WAITS)
    with pytest.raises(Unavailable, match="try again"):
        reader.read(Kind("any", "profile", 0.5), [])
    module.write_text(COMPUTES)
    with pytest.raises(Unreadable):
        reader.read(Kind("any", "profile", 120.0), [])


def test_a_check_that_waited_is_repeated(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.write_text(WAITS)
    monkeypatch.setattr(checking, "SECONDS", 0.5)
    result = checking.check(NONE, tmp_path / "any", tmp_path / "scratch", lambda: False)
    assert result.refusal is None
    assert result.trouble
