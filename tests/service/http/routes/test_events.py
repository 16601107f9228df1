"""Events in pages and as a stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import PHASES, line
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for


def frames(response: httpx.Response) -> Iterator[dict[str, str]]:
    """The fields of each server-sent event; a comment comes under an empty name."""
    fields: dict[str, str] = {}
    for text in response.iter_lines():
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.strip()
        elif fields:
            yield fields
            fields = {}


def read_stream(
    service: InProcess, job_id: str, **headers: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All events of a stream up to its end, and what the end says."""
    path = f"/v1/jobs/{job_id}/events"
    headers = {"accept": "text/event-stream", **headers}
    received: list[dict[str, Any]] = []
    with service.user.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"
        for frame in frames(response):
            if frame.get("event") == "end":
                end: dict[str, Any] = json.loads(frame["data"])
                assert "id" not in frame
                return received, end
            if "data" in frame:
                event = json.loads(frame["data"])
                assert frame["id"].startswith(f"{event['seq']}-")
                assert frame["event"] == event["kind"]
                received.append(event)
    raise AssertionError("the stream broke off without an end")


class TestPages:
    @pytest.mark.parametrize("limit", [1, 7, 500, 0, 10**9])
    def test_hold_every_event_once_and_in_order(
        self, service: InProcess, finished: str, limit: int
    ) -> None:
        received: list[int] = []
        after, end = 0, False
        while not end:
            page = service.events(finished, after=after, limit=limit)
            received += [event["seq"] for event in page["events"]]
            after, end = page["next_after"], page["end"]
        assert received == list(range(1, service.job(finished)["last_seq"] + 1))

    def test_the_last_events_are_those_of_the_whole_list(
        self, service: InProcess, finished: str
    ) -> None:
        events = service.events(finished)["events"]
        for more in ({}, {"kind": "state"}, {"after": events[-2]["seq"]}):
            wanted = service.events(finished, **more)["events"]
            last = service.events(finished, **more, last=True, limit=3)
            assert last["events"] == wanted[-3:]
            assert last["next_after"] == events[-1]["seq"]
        path = f"/v1/jobs/{finished}/events?last=true"
        refused = service.user.get(path, headers={"accept": "text/event-stream"})
        [problem] = check_problem(refused, 400)["errors"]
        assert problem["pointer"] == "/query/last"

    def test_a_page_of_large_events_has_fewer(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        for _ in range(2):
            lines = [line("x" * 15_000) for _ in range(400)]
            assert attempt.report(*lines).status_code == 200
        job_id = attempt.claim["job_id"]
        attempt.complete()
        last_seq = service.job(job_id)["last_seq"]
        for query in ({"last": True}, {"last": False}):
            page = service.events(job_id, limit=1000, **query)
            numbers = [event["seq"] for event in page["events"]]
            assert len(numbers) < 700
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert (last_seq if query["last"] else 1) in (numbers[0], numbers[-1])

    def test_contain_log_lines_and_every_change_of_state(
        self, service: InProcess, finished: str
    ) -> None:
        events = service.events(finished)["events"]
        states = [event["state"] for event in events if event["kind"] == "state"]
        assert states == [
            "queued",
            "preparing",
            "compiling",
            "acquiring",
            "running",
            "reporting",
            "succeeded",
        ]
        assert [event["phase"] for event in events if event["kind"] == "phase"] == list(PHASES)
        messages = [event["message"] for event in events if event["kind"] == "log"]
        assert messages == [f"line {number}" for number in range(20)]
        assert events[0]["attempt"] is None
        assert {event["attempt"] for event in events[1:]} == {1}
        assert all(event["time"].endswith("Z") for event in events)

    def test_of_one_kind_pass_over_the_others(self, service: InProcess, finished: str) -> None:
        page = service.events(finished, kind="metric")
        assert len(page["events"]) == 20
        assert page["next_after"] == service.job(finished)["last_seq"]
        assert page["end"] is True
        both = service.events(finished, kind=["metric", "log"], limit=3)
        assert [event["kind"] for event in both["events"]] == ["log", "metric", "log"]
        assert both["end"] is False

    def test_progress_within_a_phase_is_kept_and_moves_nothing(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        part = {"kind": "progress", "phase": "compile", "fraction": 0.4, "message": "building"}
        attempt.report({"kind": "phase", "phase": "compile"}, part)
        (kept,) = service.events(job_id, kind="progress")["events"]
        assert {name: kept[name] for name in part} == part
        assert service.job(job_id)["state"] == "compiling"
        assert attempt.report({"kind": "phase", "phase": "run"}).status_code == 200

    def test_do_not_end_before_the_job_does(self, service: InProcess) -> None:
        job = service.submit()
        page = service.events(job["id"])
        assert (page["next_after"], page["end"]) == (1, False)
        again = service.events(job["id"], after=1)
        assert (again["events"], again["next_after"], again["end"]) == ([], 1, False)

    @pytest.mark.parametrize(
        ("query", "pointer"),
        [
            ("after=-1", "/query/after"),
            ("after=x", "/query/after"),
            ("after=1000000", "/query/after"),
            ("after=99999999999999999999999", "/query/after"),
            ("limit=-1", "/query/limit"),
            ("limit=many", "/query/limit"),
            ("kind=gossip", "/query/kind/0"),
            ("since=3", "/query/since"),
        ],
    )
    def test_a_wrong_parameter_is_named(
        self, service: InProcess, finished: str, query: str, pointer: str
    ) -> None:
        response = service.user.get(f"/v1/jobs/{finished}/events?{query}")
        problem = check_problem(response, 400)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]


class TestStream:
    def test_a_stream_has_the_events_of_the_pages_and_ends(
        self, service: InProcess, finished: str
    ) -> None:
        events, end = read_stream(service, finished)
        assert events == service.events(finished)["events"]
        assert end == {"last_seq": len(events), "state": "succeeded"}

    def test_resumes_after_the_last_event_that_its_reader_has(
        self, service: InProcess, finished: str
    ) -> None:
        everything = service.events(finished)["events"]
        headers = {"last-event-id": "17"}
        assert read_stream(service, finished, **headers)[0] == everything[17:]
        last = str(len(everything))
        assert read_stream(service, finished, **{"last-event-id": last})[0] == []

    def test_last_event_id_has_precedence_over_the_url(
        self, service: InProcess, finished: str
    ) -> None:
        path = f"/v1/jobs/{finished}/events?after=3"
        headers = {"accept": "text/event-stream", "last-event-id": "9"}
        with service.user.stream("GET", path, headers=headers) as response:
            first = next(frame for frame in frames(response) if "id" in frame)
        assert first["id"].startswith("10-")

    @pytest.mark.parametrize(
        "wrong", ["-1", "1-", "abc", "1.5", "1e3", "9" * 30, "1000000", "0x10"]
    )
    def test_a_foreign_last_event_id_is_refused(
        self, service: InProcess, finished: str, wrong: str
    ) -> None:
        headers = {"accept": "text/event-stream", "last-event-id": wrong}
        response = service.user.get(f"/v1/jobs/{finished}/events", headers=headers)
        problem = check_problem(response, 400)
        assert problem["errors"][0]["pointer"] == "/header/last-event-id"

    def test_follows_a_job_as_it_continues(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        path = f"/v1/jobs/{attempt.claim['job_id']}/events"
        seen = []
        with service.user.stream("GET", path, headers={"accept": "text/event-stream"}) as response:
            for frame in frames(response):
                if frame.get("event") == "end":
                    break
                seen.append(frame.get("event"))
                # Each event is sent only after all readers have received the one before.
                if frame.get("data", "").find("preparing") > 0:
                    assert attempt.report(line("first")).status_code == 200
                elif "first" in frame.get("data", ""):
                    attempt.complete()
        assert seen.count("log") == 1
        assert seen[-1] == "state"

    def test_many_readers_of_a_busy_job_all_get_everything(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        job_id: str = attempt.claim["job_id"]
        received: list[list[int]] = []

        def read() -> None:
            events, _ = read_stream(service, job_id)
            received.append([event["seq"] for event in events])

        readers = [threading.Thread(target=read) for _ in range(5)]
        for reader in readers:
            reader.start()
        for number in range(20):
            attempt.report(line(f"line {number}"))
        attempt.complete()
        for reader in readers:
            reader.join()
        assert received == [list(range(1, service.job(job_id)["last_seq"] + 1))] * 5

    def test_a_silent_stream_sends_pings(self, redis_server: RedisServer, tmp_path: Path) -> None:
        settings = settings_for(tmp_path / "home", redis_server.url, ping_seconds=0.05)
        with InProcess(settings) as service:
            path = f"/v1/jobs/{service.submit()['id']}/events"
            headers = {"accept": "text/event-stream"}
            with service.user.stream("GET", path, headers=headers) as response:
                comments = (frame[""] for frame in frames(response) if "" in frame)
                assert [next(comments), next(comments)] == ["ping", "ping"]
