"""What holds for many people and machines at once, by number: the page names the tests of each."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "evidence" / "checks.md"
INVARIANTS = range(1, 33)


def test_each_invariant_has_a_test_that_the_page_names() -> None:
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", page, re.M)
    shown = {int(number): set(re.findall(r"`(test_\w+)`", tests)) for number, tests in rows}
    defined = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_n\d+_\w+)", path.read_text("utf-8"))
    }
    assert [*shown] == [*INVARIANTS]
    for number, tests in shown.items():
        assert tests == {name for name in defined if name.startswith(f"test_n{number}_")}
        assert tests, number
