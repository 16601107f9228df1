"""Text of others is shown without what could control a terminal."""

from __future__ import annotations

import pytest

from ipulse.cli.display.progress import JobProgress
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import clean, show_facts
from tests.ipulse.cli.test_progress import drawn, event
from tests.ipulse.client import samples


@pytest.mark.parametrize(
    "bad", ["\x1b[2J", "\x9b31m", "\r", "\x07", "\u202e", "\u200b", "\u2028", "\ud800"], ids=ascii
)
def test_no_text_controls_the_terminal(bad: str) -> None:
    assert bad not in clean(f"a{bad}b")
    shown = JobProgress(samples.snapshot(name=f"a{bad}b"))
    line = shown.take(event("log", message=f"a{bad}b", level="error", stream="agent"))
    assert line is not None
    assert bad not in line
    assert bad not in drawn(shown).replace("\r\n", "\n")


def test_ordinary_text_is_not_changed() -> None:
    assert clean("tests ✓ grün 0.5 % [bold]") == "tests ✓ grün 0.5 % [bold]"


def test_text_of_others_never_begins_a_line_of_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    show_facts([("metadata a\nid\u202e", "me\nsucceeded"), ("id", "job_1")])
    show_table(["A", "B"], [["x\njob_2", "y"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("metadata a\\nid\\u202e  me")
    assert lines[1].startswith(" ")
    assert [line for line in lines if line.startswith("job_")] == []
    assert lines[-1] == "x\\njob_2  y"
