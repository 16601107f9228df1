"""Log events that travel together arrive as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ipulse.events import LogEvent, PhaseEvent
from ipulse.log_lines import MAX_LINES, LogLines, packed, unpacked

LOG = st.builds(
    LogEvent,
    st.sampled_from(["", "a line", "ü"]),
    st.sampled_from(["info", "warning"]),
    st.sampled_from(["stdout", "stderr"]),
)
EVENT = st.one_of(LOG, LOG, st.just(PhaseEvent("run")))


@given(st.lists(EVENT, max_size=30))
def test_what_was_packed_comes_back_in_order(events: list[object]) -> None:
    assert list(unpacked(packed(events))) == events


def test_lines_of_one_origin_are_one_entry() -> None:
    out, err = LogEvent("out", stream="stdout"), LogEvent("err", "warning", "stderr")
    assert packed([out, out, err, PhaseEvent("run"), out]) == [
        LogLines(("out", "out"), "info", "stdout"),
        err,
        PhaseEvent("run"),
        out,
    ]


def test_no_entry_is_longer_than_the_service_takes() -> None:
    entries = packed([LogEvent("x")] * (MAX_LINES + 2))
    assert [len(entry.messages) for entry in entries if isinstance(entry, LogLines)] == [
        MAX_LINES,
        2,
    ]
