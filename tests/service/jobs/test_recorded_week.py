"""The recorded week of a lab in the documentation is what its command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.service import week

PAGE = Path(__file__).parents[3] / "docs/evidence/week.md"


@pytest.mark.verify
def test_the_page_has_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    week.main([])
    printed = capsys.readouterr().out.strip()
    assert printed in PAGE.read_text("utf-8"), "write its output into docs/evidence/week.md"
