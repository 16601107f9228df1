"""The reliability page names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evidence" / "reliability.md"


def test_every_promise_names_tests_that_exist() -> None:
    promises = PAGE.read_text("utf-8").partition("## The fault suite")[0]
    rows = re.findall(r"^\| (?!promise|---)(.*) \| (.*) \|$", promises, re.MULTILINE)
    assert len(rows) > 15
    for promise, tests in rows:
        assert "`tests/" in tests or "fault suite" in tests, promise
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []
