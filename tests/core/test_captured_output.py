"""Any output of a process becomes valid log events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_core.captured_output import CapturedOutput


def captured(*chunks: bytes) -> list[str]:
    output = CapturedOutput("stdout")
    events = [event for chunk in chunks for event in output.feed(chunk)]
    return [event.message for event in [*events, *output.end()]]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_become_events_that_the_service_accepts(chunks: list[bytes]) -> None:
    from ipulse.events import parse_event  # needs Python 3.10

    output = CapturedOutput("stderr")
    events = [event for chunk in chunks for event in output.feed(chunk)]
    for event in [*events, *output.end()]:
        assert parse_event(event.to_json()) == event


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=200), st.data())
def test_where_the_reads_fall_does_not_matter(text: str, data: st.DataObject) -> None:
    whole = "\n".join(text.split("x")).encode()
    cut = data.draw(st.integers(0, len(whole)))
    assert captured(whole[:cut], whole[cut:]) == captured(whole)


def test_empty_lines_are_kept() -> None:
    assert captured(b"a\n\nb\n") == ["a", "", "b"]


def test_a_progress_bar_leaves_its_last_state() -> None:
    assert captured(b"1/3\r2/3\r3/3\nnext\r\n") == ["3/3", "next"]


def test_tabs_stay_and_other_control_characters_do_not() -> None:
    assert captured(b"a\tb\x07\x00c\n") == ["a\tb\ufffd\ufffdc"]


def test_a_broken_colour_does_not_swallow_the_text() -> None:
    assert captured(b"\x1b[1;31mred\x1b[0m \x1bnot a code\n") == ["red \ufffdnot a code"]


@pytest.mark.parametrize("character", [*"\u2028\u2029\u202a\u202e\u2066\u2069\u200e\u200f\u061c"])
def test_what_would_deceive_a_reader_is_escaped(character: str) -> None:
    shown = f"\\u{ord(character):04x}"
    assert captured(f"a{character}b\n".encode()) == [f"a{shown}b"]
    assert captured("שלום\n".encode()) == ["שלום"]
