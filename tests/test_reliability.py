"""The reliability page names tests and groups of faults that exist."""

from __future__ import annotations

import re
from pathlib import Path

from ipulse_service.selftest import GROUPS

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


def test_every_group_of_faults_is_described() -> None:
    described = re.findall(r"^\* `([\w-]+)`: ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(described) == sorted(GROUPS)
