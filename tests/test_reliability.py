"""Tests that docs/evidence/reliability.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evidence" / "reliability.md"


def test_the_tests_that_hold_a_promise_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE.read_text()))
    assert len(named) > 5
    for name in named:
        assert (ROOT / name).exists(), name
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"\(`((?:test_|Test|check_)\w+)`\)", PAGE.read_text()):
        assert re.search(rf"(def|class) {name}\b", sources), name
