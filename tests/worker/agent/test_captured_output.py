"""Any output of a process becomes valid log events within the quota."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse.events import parse_event
from ipulse_core.events import LogEvent
from ipulse_worker.agent.supervision.captured_output import (
    LINE_OVERHEAD_BYTES,
    CapturedOutput,
    LogQuota,
    LogRate,
)


def captured(*chunks: bytes) -> list[str]:
    output = CapturedOutput("stdout")
    events = [event for chunk in chunks for event in output.feed(chunk)]
    return [event.message for event in [*events, *output.end()]]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_become_events_that_the_service_accepts(chunks: list[bytes]) -> None:
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


class TestQuota:
    def test_the_quota_ends_with_one_notice(self) -> None:
        quota = LogQuota(10 * (LINE_OVERHEAD_BYTES + 1))
        admitted = [out for _ in range(50) for out in quota.admit(LogEvent(message="x"))]
        assert [event.message for event in admitted[:10]] == ["x"] * 10
        assert len(admitted) == 11
        assert "quota" in admitted[10].message
        assert admitted[10].stream == "agent"

    def test_empty_lines_use_it_up_too(self) -> None:
        quota = LogQuota(1000)
        admitted = [out for _ in range(100) for out in quota.admit(LogEvent(message=""))]
        assert len(admitted) < 20
        assert quota.is_spent


class TestRate:
    def test_a_burst_passes_and_the_rest_is_counted_in_one_notice(self) -> None:
        now = 0.0
        rate = LogRate(2.0, clock=lambda: now)
        line = LogEvent(message="x")
        assert len([out for _ in range(100) for out in rate.admit(line)]) == 20
        now = 1.0
        messages = [out.message for _ in range(5) for out in rate.admit(line)]
        assert messages == [
            "80 lines were dropped here: a job may write 2 lines per second.",
            "x",
            "x",
        ]
        assert [out.message for out in rate.end()] == [
            "3 lines were dropped here: a job may write 2 lines per second."
        ]
        assert list(rate.end()) == []
