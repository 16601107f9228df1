"""Calls: the requests, the responses and the errors."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Artifact, AsyncClient, Client, Job, JobEvent
from ipulse.spec import parse_spec, spec_to_json
from ipulse_core import errors
from ipulse_core.errors import (
    Conflict,
    InvalidInput,
    InvalidSpec,
    IPUlseError,
    NotFound,
    RemoteError,
    Unavailable,
)
from ipulse_core.states import JobState
from tests.ipulse.scripted_server import (
    Answer,
    Request,
    ScriptedServer,
    json_answer,
    problem_answer,
)

from .conftest import Connect
from .samples import artifact, event, job

SPEC: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
REFUSED = Answer(500, b"oops", {"Content-Type": "text/plain"})


def in_turn(*answers: Answer) -> Any:
    waiting = list(answers)
    return lambda request: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def test_both_clients_have_the_same_methods() -> None:
    def surface(cls: type[Any]) -> dict[str, list[str]]:
        members = inspect.getmembers(cls, inspect.isfunction)
        public = {n: m for n, m in members if not n.startswith("_") or n == "__init__"}
        return {name: list(inspect.signature(m).parameters) for name, m in public.items()}

    assert surface(Client) == surface(AsyncClient)


def test_a_closed_client_is_an_error(connect: Connect) -> None:
    client = connect("http://127.0.0.1:1", "t")
    client.close()
    with pytest.raises(Conflict, match="closed: make another"):
        client.get("job_1")
    with pytest.raises(Conflict, match="closed: make another"):
        next(client.watch("job_1"))


def test_another_event_loop_is_an_error_with_a_hint() -> None:
    async def get(client: AsyncClient) -> None:
        await client.get("job_1")

    last = json_answer(job())
    last.headers["Connection"] = "close"  # or the first loop would leave a connection behind
    with ScriptedServer(lambda _: last) as server:
        client = AsyncClient(server.url, "t")
        asyncio.run(get(client))
        for later in (get(client), client.close()):
            with pytest.raises(Conflict, match=r"make one in each asyncio\.run"):
                asyncio.run(later)


def test_resources_are_hashable() -> None:
    jobs = [Job.from_json(job(progress={"step": 1}, summary={"loss": 0.5})) for _ in range(2)]
    assert len({*jobs, Job.from_json(job(id="job_2"))}) == 2
    assert len({JobEvent.from_json(event(seq, message="m")) for seq in (1, 1, 2)}) == 2
    assert len({Artifact.from_json(artifact(name, b"")) for name in ("a", "b", "b")}) == 2


class TestSubmit:
    def test_every_form_of_a_spec_sends_the_same_body(
        self, connect: Connect, tmp_path: Path
    ) -> None:
        yaml = tmp_path / "spec.yaml"
        yaml.write_text("version: 1\nnetwork: {layers: [{neurons: 8}]}\n")
        ways: list[Any] = [SPEC, parse_spec(SPEC), yaml, str(yaml)]
        with ScriptedServer(lambda _: json_answer(job(), 202)) as server:
            client = connect(server.url, "t")
            for way in ways:
                assert client.submit(way).id == "job_1"
            bodies = [json.loads(request.body) for request in server.requests]
        assert bodies[0] == SPEC
        assert all(spec_to_json(parse_spec(body)) == bodies[1] for body in bodies)

    def test_a_retry_carries_the_same_key_and_another_job_another(self, connect: Connect) -> None:
        answer = in_turn(problem_answer(503, "unavailable"), json_answer(job(), 202))
        with ScriptedServer(answer) as server:
            client = connect(server.url, "t")
            client.submit(SPEC)
            client.submit(SPEC)
            client.submit(SPEC, idempotency_key="mine")
            keys = [request.headers["idempotency-key"] for request in server.requests]
        assert keys[0] == keys[1]
        assert len({keys[1], keys[2], "mine"}) == 3
        assert keys[3] == "mine"

    def test_an_invalid_spec_has_the_places_of_the_service(self, connect: Connect) -> None:
        problems = [{"pointer": "/seed", "code": "out_of_range", "detail": "must be at least 0"}]
        answer = problem_answer(422, "invalid_spec", "The spec is not valid.", errors=problems)
        with ScriptedServer(lambda _: answer) as server:
            with pytest.raises(InvalidSpec, match="/seed: must be at least 0"):
                connect(server.url, "t").submit(SPEC)
            assert len(server.requests) == 1

    @pytest.mark.parametrize("seed", [float("nan"), float("inf"), object()], ids=type)
    def test_values_without_json_form_are_not_sent(self, connect: Connect, seed: object) -> None:
        with ScriptedServer(lambda _: json_answer(job(), 202)) as server:
            with pytest.raises(InvalidSpec, match="/seed"):
                connect(server.url, "t").validate({**SPEC, "seed": seed})
            assert server.requests == []

    def test_the_token_goes_with_each_request(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: json_answer(job(), 202)) as server:
            connect(server.url, "abc").submit(SPEC)
            (request,) = server.requests
        assert request.headers["authorization"] == "Bearer abc"
        assert request.headers["user-agent"].startswith("ipulse/")
        assert request.headers["content-type"] == "application/json"


class TestGet:
    def test_a_job_has_the_types_of_its_fields(self, connect: Connect) -> None:
        value = job(state="succeeded", reason="completed", summary={"test_accuracy": 0.97})
        with ScriptedServer(lambda _: json_answer(value)) as server:
            result = connect(server.url, "t").get("job_1")
        assert result.state is JobState.SUCCEEDED
        assert result.succeeded
        assert result.summary == {"test_accuracy": 0.97}
        assert result.created_at == datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)
        assert result.json == value

    def test_an_unchanged_job_is_not_sent_again(self, connect: Connect) -> None:
        def answer(request: Request) -> Answer:
            if request.headers.get("if-none-match") == '"1"':
                return Answer(304)
            return json_answer(job(), ETag='"1"')

        with ScriptedServer(answer) as server:
            client = connect(server.url, "t")
            assert client.get("job_1") == client.get("job_1") == client.get("job_1")
            asked = [request.headers.get("if-none-match") for request in server.requests]
        assert asked == [None, '"1"', '"1"']

    @pytest.mark.parametrize("job_id", ["", ".", "..", "a/b", "a%2fb", "../healthz", "x" * 200])
    def test_what_is_no_id_is_not_asked_for(self, connect: Connect, job_id: str) -> None:
        with ScriptedServer(lambda _: json_answer(job())) as server:
            client = connect(server.url, "t")
            calls: list[Any] = [client.get, client.cancel, client.artifacts, client.profile]
            for call in [*calls, lambda one: list(client.watch(one))]:
                with pytest.raises(NotFound):
                    call(job_id)
            assert server.requests == []


class TestLists:
    def test_jobs_come_page_by_page(self, connect: Connect) -> None:
        def answer(request: Request) -> Answer:
            if "page_token=p2" in request.path:
                return json_answer({"jobs": [job(id="c")], "next_page_token": ""})
            return json_answer({"jobs": [job(id="a"), job(id="b")], "next_page_token": "p2"})

        with ScriptedServer(answer) as server:
            result = [job.id for job in connect(server.url, "t").list("running", page_size=2)]
            paths = [request.path for request in server.requests]
        assert result == ["a", "b", "c"]
        assert all("state=running" in path and "page_size=2" in path for path in paths)

    def test_an_unknown_state_lists_the_known_ones(self, connect: Connect) -> None:
        with pytest.raises(InvalidInput, match="queued, preparing"):
            list(connect("http://127.0.0.1:1", "t").list("sleeping"))

    def test_events_come_page_by_page_also_past_an_empty_one(self, connect: Connect) -> None:
        pages: dict[str, Any] = {
            "after=0": {"events": [event(1)], "next_after": 5, "end": False},
            "after=5": {"events": [], "next_after": 9, "end": False},
            "after=9": {"events": [event(12)], "next_after": 12, "end": True},
        }

        def answer(request: Request) -> Answer:
            return json_answer(pages[request.path.split("?")[1].split("&")[0]])

        with ScriptedServer(answer) as server:
            result = list(connect(server.url, "t").events("job_1", kinds=["log", "state"]))
            assert all("kind=log&kind=state" in request.path for request in server.requests)
        assert [event.seq for event in result] == [1, 12]

    def test_events_of_a_job_still_running_stop_at_the_last_one(self, connect: Connect) -> None:
        pages = in_turn(
            json_answer({"events": [event(1)], "next_after": 1, "end": False}),
            json_answer({"events": [], "next_after": 1, "end": False}),
        )
        with ScriptedServer(pages) as server:
            assert [event.seq for event in connect(server.url, "t").events("job_1")] == [1]

    def test_artifacts_contain_the_whole_response(self, connect: Connect) -> None:
        value: dict[str, Any] = {"artifacts": [artifact("a", b"x")], "complete": True}
        with ScriptedServer(lambda _: json_answer(value)) as server:
            (result,) = connect(server.url, "t").artifacts("job_1")
        assert result.json == value["artifacts"][0]


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "code", "expected"),
        [
            (400, "bad_request", errors.InvalidInput),
            (400, "invalid_json", errors.InvalidJSON),
            (401, "not_authenticated", errors.NotAuthenticated),
            (401, "", errors.NotAuthenticated),
            (403, "not_permitted", errors.NotPermitted),
            (404, "not_found", errors.NotFound),
            (409, "conflict", errors.Conflict),
            (409, "stale_token", errors.StaleToken),
            (409, "some_new_code", errors.Conflict),
            (413, "too_large", errors.InvalidInput),
            (422, "invalid_spec", errors.InvalidSpec),
            (500, "internal", errors.RemoteError),
            (418, "teapot", errors.RemoteError),
        ],
    )
    def test_a_problem_is_the_error_of_its_code_or_status(
        self, connect: Connect, status: int, code: str, expected: type[IPUlseError]
    ) -> None:
        with ScriptedServer(lambda _: problem_answer(status, code, "because of this")) as server:
            with pytest.raises(IPUlseError, match="because of this") as caught:
                connect(server.url, "t").get("job_1")
            assert len(server.requests) == 1
        assert type(caught.value) is expected

    def test_an_error_of_the_service_names_the_request(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: problem_answer(500, "internal")) as server:
            client = connect(server.url, "t")
            with pytest.raises(RemoteError, match="request r1") as caught:
                client.get("job_1")
        assert (caught.value.status, caught.value.remote_code) == (500, "internal")

    @pytest.mark.parametrize(
        "answer",
        [
            REFUSED,
            Answer(404, b"<html>", {"Content-Type": "text/html"}),
            Answer(400, b"{", {"Content-Type": "application/problem+json"}),
            Answer(400, b"[]", {"Content-Type": "application/problem+json"}),
        ],
    )
    def test_a_response_of_another_program_asks_for_the_address(
        self, connect: Connect, answer: Answer
    ) -> None:
        with ScriptedServer(lambda _: answer) as server:
            client = connect(server.url, "t")
            with pytest.raises(RemoteError, match="is this the right address"):
                client.get("job_1")

    @pytest.mark.parametrize(
        "body",
        [b"", b"hello", b"[]", b"{}", b'{"id": 1}', json.dumps(job(state="dancing")).encode()],
        ids=lambda body: repr(body)[:12],
    )
    def test_an_unreadable_response_asks_for_the_version(
        self, connect: Connect, body: bytes
    ) -> None:
        answer = Answer(200, body, {"Content-Type": "application/json"})
        with ScriptedServer(lambda _: answer) as server:
            client = connect(server.url, "t")
            with pytest.raises(RemoteError, match="have the same version"):
                client.get("job_1")

    def test_a_redirect_is_not_followed(self, connect: Connect) -> None:
        answer = Answer(307, b"", {"Location": "http://evil.example/"})
        with ScriptedServer(lambda _: answer) as server:
            with pytest.raises(RemoteError):
                connect(server.url, "t").get("job_1")
            assert len(server.requests) == 1


class TestRetries:
    def test_a_key_in_use_is_asked_for_again_and_another_conflict_is_not(
        self, connect: Connect
    ) -> None:
        in_use = problem_answer(409, "idempotency_key_in_use")
        in_use.headers["retry-after"] = "0"
        with ScriptedServer(in_turn(in_use, json_answer(job(), 202))) as server:
            assert connect(server.url, "t").submit(SPEC).id == "job_1"
        with ScriptedServer(lambda _: problem_answer(409, "conflict")) as server:
            with pytest.raises(errors.Conflict):
                connect(server.url, "t").submit(SPEC)
            assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_a_service_that_is_busy_is_asked_again(self, connect: Connect, status: int) -> None:
        answer = in_turn(problem_answer(status, "unavailable"), REFUSED_TWICE, json_answer(job()))
        with ScriptedServer(answer) as server:
            assert connect(server.url, "t").get("job_1").id == "job_1"
            assert len(server.requests) == 3

    def test_a_service_that_stays_busy_is_reported_with_its_message(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: problem_answer(503, "unavailable", "no disk")) as server:
            with pytest.raises(Unavailable, match="no disk"):
                connect(server.url, "t", retries=2).get("job_1")
            assert len(server.requests) == 3

    def test_a_cut_connection_is_made_again(self, connect: Connect) -> None:
        cut = Answer(200, b'{"id":', {"Content-Type": "application/json"}, announced=500)
        with ScriptedServer(in_turn(cut, json_answer(job()))) as server:
            assert connect(server.url, "t").get("job_1").id == "job_1"

    def test_a_connection_that_always_breaks_is_an_error(self, connect: Connect) -> None:
        cut = Answer(200, b"{", {"Content-Type": "application/json"}, announced=500)
        with ScriptedServer(lambda _: cut) as server:
            client = connect(server.url, "t", retries=1)
            with pytest.raises(Unavailable, match="keeps breaking"):
                client.get("job_1")

    def test_an_hour_is_not_waited(self, connect: Connect) -> None:
        later = problem_answer(503, "unavailable", "closed for today")
        later.headers["Retry-After"] = "3600"
        with ScriptedServer(lambda _: later) as server:
            with pytest.raises(Unavailable, match="closed for today"):
                connect(server.url, "t").get("job_1")
            assert len(server.requests) == 1

    @pytest.mark.parametrize("form", ["seconds", "date"])
    def test_the_pause_asked_for_is_kept(
        self, connect: Connect, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept: list[float] = []
        monkeypatch.setattr("ipulse.client.transport.transports.time.sleep", slept.append)

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        monkeypatch.setattr("ipulse.client.transport.transports.anyio.sleep", sleep)
        when = datetime.now(timezone.utc) + timedelta(seconds=55)  # of which some pass here
        later = problem_answer(429, "busy")
        later.headers["Retry-After"] = "30" if form == "seconds" else format_datetime(when, True)
        with ScriptedServer(in_turn(later, json_answer(job()))) as server:
            connect(server.url, "t").get("job_1")
        assert len(slept) == 1
        assert slept[0] == 30 if form == "seconds" else 25 < slept[0] <= 56

    def test_without_a_service_the_hint_is_to_start_one(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: REFUSED) as server:
            url = server.url
        with pytest.raises(Unavailable, match="start one with `ipulse up`"):
            connect(url, "t", retries=1).get("job_1")


class TestWait:
    def test_it_returns_the_job_once_it_has_ended(self, connect: Connect) -> None:
        states = iter(["queued", "running", "running", "failed"])
        with ScriptedServer(lambda _: json_answer(job(state=next(states)))) as server:
            assert connect(server.url, "t").wait("job_1").state is JobState.FAILED

    def test_it_gives_up_at_the_deadline(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: json_answer(job())) as server:
            client = connect(server.url, "t")
            with pytest.raises(TimeoutError, match=r"job_1 has not ended after 0\.3 s"):
                client.wait("job_1", timeout=0.3)

    def test_it_gives_up_at_the_deadline_while_no_service_is_there(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: REFUSED) as server:
            url = server.url
        with pytest.raises(TimeoutError, match=r"has not ended after 0\.05 s"):
            connect(url, "t", retries=1000).wait("job_1", timeout=0.05)


REFUSED_TWICE = problem_answer(503, "unavailable")
