"""Following events: without gap and without repetition, whatever breaks."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_core.errors import Conflict, NotFound, RemoteError, Unavailable
from tests.ipulse.scripted_server import Answer, Request, ScriptedServer, problem_answer

from .conftest import Connect, job_of
from .samples import event, stream

EVENTS = [event(n, message=f"line {n} \u2028 \x85") for n in range(1, 21)]
STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def serve(pieces: list[int]) -> Any:
    """Gives the stream from Last-Event-ID on, cut after so many bytes in each answer."""
    waiting = list(pieces)

    def answer(request: Request) -> Answer:
        last = int(request.headers.get("last-event-id", 0))
        body = stream(EVENTS[last:], end=True)
        if waiting:
            return Answer(200, body[: waiting.pop(0)], STREAM, announced=len(body))
        return Answer(200, body, STREAM)

    return answer


def test_events_come_in_order_until_the_end(connect: Connect) -> None:
    with ScriptedServer(serve([])) as server:
        events = list(job_of(connect(server.url, "t")).watch())
        (request,) = server.requests
    assert [event.json for event in events] == EVENTS
    assert request.headers["accept"] == "text/event-stream"


def test_a_stream_cut_anywhere_continues_without_gap(connect: Connect) -> None:
    with ScriptedServer(serve([150, 0, 333, 1000, 1, 700])) as server:
        events = list(job_of(connect(server.url, "t")).watch())
        assert len(server.requests) == 7
    assert [event.seq for event in events] == list(range(1, 21))


def test_a_stream_that_ends_early_is_reopened(connect: Connect) -> None:
    def answer(request: Request) -> Answer:
        last = int(request.headers["last-event-id"])
        return Answer(200, stream(EVENTS[last : last + 7], end=last >= 14), STREAM)

    with ScriptedServer(answer) as server:
        events = list(job_of(connect(server.url, "t", retries=1)).watch())
    assert [event.seq for event in events] == list(range(1, 21))


def test_it_comes_back_with_the_id_that_the_service_gave(connect: Connect) -> None:
    """It may say more than a number: which history that number belongs to."""
    text = stream(EVENTS[:1], end=False).replace(b"id: 1", b"id: 1-7f")

    def answer(request: Request) -> Answer:
        if request.headers["last-event-id"] == "0":
            return Answer(200, text, STREAM)
        return problem_answer(409, "other_history", "begin at the first event")

    with ScriptedServer(answer) as server:
        events = job_of(connect(server.url, "t")).watch()
        assert next(events).seq == 1
        with pytest.raises(Conflict, match="begin at the first event"):
            next(events)
        assert [request.headers["last-event-id"] for request in server.requests] == ["0", "1-7f"]


def test_it_begins_after_the_event_asked_for(connect: Connect) -> None:
    with ScriptedServer(serve([])) as server:
        assert [event.seq for event in job_of(connect(server.url, "t")).watch(after=18)] == [
            19,
            20,
        ]


def test_duplicate_events_are_yielded_once(connect: Connect) -> None:
    answer = Answer(200, stream([*EVENTS[:3], *EVENTS], end=True), STREAM)
    with ScriptedServer(lambda _: answer) as server:
        events = [event.seq for event in job_of(connect(server.url, "t")).watch()]
    assert events == list(range(1, 21))


def test_tries_without_anything_new_are_bounded(connect: Connect) -> None:
    answer = Answer(200, stream(EVENTS[:3], end=False), STREAM)
    seen: list[int] = []
    with ScriptedServer(lambda _: answer) as server:
        events = job_of(connect(server.url, "t", retries=2)).watch()
        with pytest.raises(Unavailable, match="the stream ended early"):
            seen.extend(event.seq for event in events)
        assert len(server.requests) == 5
    assert seen == [1, 2, 3]


def test_a_restarting_service_is_waited_for(connect: Connect) -> None:
    away = [problem_answer(503, "unavailable")] * 3

    def answer(request: Request) -> Answer:
        return away.pop() if away else serve([])(request)

    with ScriptedServer(answer) as server:
        assert len(list(job_of(connect(server.url, "t")).watch())) == 20


def test_an_unknown_job_is_an_error_at_once(connect: Connect) -> None:
    with ScriptedServer(lambda _: problem_answer(404, "not_found", "no such job")) as server:
        with pytest.raises(NotFound, match="no such job"):
            list(job_of(connect(server.url, "t")).watch())
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"{}", {"Content-Type": "application/json"}),
        Answer(204, b"", STREAM),
        Answer(200, b"data: nonsense\n\n", STREAM),
        Answer(200, b'data: {"seq": "one"}\n\n', STREAM),
    ],
    ids=["no stream", "no content", "no json", "no event"],
)
def test_what_is_no_event_stream_is_refused(connect: Connect, answer: Answer) -> None:
    with ScriptedServer(lambda _: answer) as server, pytest.raises(RemoteError, match="stream"):
        list(job_of(connect(server.url, "t")).watch())


def test_a_watch_can_be_left(connect: Connect) -> None:
    with ScriptedServer(serve([])) as server:
        events = job_of(connect(server.url, "t")).watch()
        first: dict[str, Any] = next(events).json
        events.close()
    assert first == EVENTS[0]
