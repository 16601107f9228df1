"""Server-sent events from bytes, however they are cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ipulse.client.transport import server_sent_events
from ipulse.client.transport.server_sent_events import Decoder, ServerSentEvent

# No character that ends a line; U+2028 and U+0085 do not end one here.
texts = st.text().filter(lambda text: not set(text) & set("\r\n\0"))
events = st.builds(
    ServerSentEvent,
    kind=texts.filter(bool).filter(lambda kind: not kind.startswith(" ")),
    data=st.lists(texts, min_size=1, max_size=3).map("\n".join),
    id=texts.filter(lambda text: not text.startswith(" ")),
)


def written(event: ServerSentEvent, end: str) -> str:
    lines = [f"event: {event.kind}", f"id: {event.id}"]
    lines += [f"data: {line}" for line in event.data.split("\n")]
    return "".join(line + end for line in [*lines, ": a comment", ""])


def decoded(chunks: list[bytes]) -> list[ServerSentEvent]:
    decoder = Decoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@given(
    st.lists(events, max_size=4),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 400), max_size=8),
)
@example([ServerSentEvent("log", "a\u2028b\x85c\x0bd", "1")], "\r\n", [1, 2, 3])
def test_any_cut_of_the_bytes_gives_the_same_events(
    expected: list[ServerSentEvent], end: str, cuts: list[int]
) -> None:
    content = "".join(written(event, end) for event in expected).encode()
    places = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    chunks = [content[start:stop] for start, stop in itertools.pairwise(places)]
    assert decoded(chunks) == expected
    assert decoded([content[n : n + 1] for n in range(len(content))]) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"data: 1\n\n", [("message", "1", "")]),
        (b"data\n\n", [("message", "", "")]),
        (b"data:  two spaces\n\n", [("message", " two spaces", "")]),
        (b"id: 5\n\ndata: x\n\n", [("message", "x", "5")]),
        (b"event: a\n\ndata: x\n\n", [("message", "x", "")]),
        (b"id: 5\ndata: x\n\ndata: y\n\n", [("message", "x", "5"), ("message", "y", "5")]),
        (b"id: 5\0\ndata: x\n\n", [("message", "x", "")]),
        (b": ping\n\n", []),
        (b"data: unfinished\n", []),
        (b"retry: 10\ncolour: red\ndata: x\n\n", [("message", "x", "")]),
        (b"data: \xff\n\n", [("message", "\ufffd", "")]),
    ],
)
def test_the_rules_of_the_standard(content: bytes, expected: list[object]) -> None:
    assert [(e.kind, e.data, e.id) for e in decoded([content])] == expected


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sent_events, "LONGEST_LINE", 1000)
    with pytest.raises(ValueError, match="too long"):
        decoded([b"data: xxxx"] * 200)
