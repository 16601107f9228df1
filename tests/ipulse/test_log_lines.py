"""Log events that travel together arrive as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ipulse.log_lines import LogLines, in_parts, length, packed, without_first
from ipulse_core.events import LogEvent, PhaseEvent
from ipulse_core.messages import EVENTS_PER_REQUEST

LOG = st.builds(
    LogEvent,
    st.sampled_from(["", "a line", "ü"]),
    st.sampled_from(["info", "warning"]),
    st.sampled_from(["stdout", "stderr"]),
)
EVENT = st.one_of(LOG, LOG, st.just(PhaseEvent("run")))


@given(st.lists(EVENT, max_size=30), st.integers(0, 40))
def test_what_was_packed_is_the_same_events_in_order(events: list[object], number: int) -> None:
    together = packed(events)
    assert length(together) == len(events)
    assert one_by_one(together) == events
    assert one_by_one(without_first(together, number)) == events[number:]


@given(st.lists(EVENT, max_size=30), st.integers(1, 7))
def test_parts_are_full_and_in_order(events: list[object], most: int) -> None:
    parts = list(in_parts(packed(events), most))
    assert [event for part in parts for event in one_by_one(part)] == events
    assert all(length(part) == most for part in parts[:-1])
    assert all(0 < length(part) <= most for part in parts[-1:])


def one_by_one(events: list[object]) -> list[object]:
    result: list[object] = []
    for event in events:
        if isinstance(event, LogLines):
            result += [LogEvent(text, event.level, event.stream) for text in event.messages]
        else:
            result.append(event)
    return result


def test_lines_of_one_origin_are_one_entry() -> None:
    out, err = LogEvent("out", stream="stdout"), LogEvent("err", "warning", "stderr")
    assert packed([out, out, err, PhaseEvent("run"), out]) == [
        LogLines(("out", "out"), "info", "stdout"),
        err,
        PhaseEvent("run"),
        out,
    ]


def test_no_entry_is_longer_than_the_service_takes() -> None:
    entries = packed([LogEvent("x")] * (EVENTS_PER_REQUEST + 2))
    assert [len(entry.messages) for entry in entries if isinstance(entry, LogLines)] == [
        EVENTS_PER_REQUEST,
        2,
    ]
