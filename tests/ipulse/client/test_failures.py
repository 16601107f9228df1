"""Errors of the service, retries, and waiting."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from ipulse_core import errors
from ipulse_core.errors import (
    IPUlseError,
    RemoteError,
    Unavailable,
)
from ipulse_core.states import JobState
from tests.ipulse.scripted_server import (
    Answer,
    ScriptedServer,
    in_turn,
    json_answer,
    problem_answer,
)

from .conftest import Connect, job_of
from .samples import job

SPEC: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
REFUSED = Answer(500, b"oops", {"Content-Type": "text/plain"})
REFUSED_TWICE = problem_answer(503, "unavailable")


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
                job_of(connect(server.url, "t")).refresh()
            assert len(server.requests) == 1
        assert type(caught.value) is expected

    def test_an_error_of_the_service_names_the_request(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: problem_answer(500, "internal")) as server:
            client = connect(server.url, "t")
            with pytest.raises(RemoteError, match="request r1") as caught:
                job_of(client).refresh()
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
                job_of(client).refresh()

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
                job_of(client).refresh()

    def test_a_redirect_is_not_followed(self, connect: Connect) -> None:
        answer = Answer(307, b"", {"Location": "http://evil.example/"})
        with ScriptedServer(lambda _: answer) as server:
            with pytest.raises(RemoteError):
                job_of(connect(server.url, "t")).refresh()
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
            assert job_of(connect(server.url, "t")).refresh().id == "job_1"
            assert len(server.requests) == 3

    def test_a_service_that_stays_busy_is_reported_with_its_message(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: problem_answer(503, "unavailable", "no disk")) as server:
            with pytest.raises(Unavailable, match="no disk"):
                job_of(connect(server.url, "t", retries=2)).refresh()
            assert len(server.requests) == 3

    def test_a_cut_connection_is_made_again(self, connect: Connect) -> None:
        cut = Answer(200, b'{"id":', {"Content-Type": "application/json"}, announced=500)
        with ScriptedServer(in_turn(cut, json_answer(job()))) as server:
            assert job_of(connect(server.url, "t")).refresh().id == "job_1"

    def test_a_connection_that_always_breaks_is_an_error(self, connect: Connect) -> None:
        cut = Answer(200, b"{", {"Content-Type": "application/json"}, announced=500)
        with ScriptedServer(lambda _: cut) as server:
            client = connect(server.url, "t", retries=1)
            with pytest.raises(Unavailable, match="keeps breaking"):
                job_of(client).refresh()

    def test_an_hour_is_not_waited(self, connect: Connect) -> None:
        later = problem_answer(503, "unavailable", "closed for today")
        later.headers["Retry-After"] = "3600"
        with ScriptedServer(lambda _: later) as server:
            with pytest.raises(Unavailable, match="closed for today"):
                job_of(connect(server.url, "t")).refresh()
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
            job_of(connect(server.url, "t")).refresh()
        assert len(slept) == 1
        assert slept[0] == 30 if form == "seconds" else 25 < slept[0] <= 56

    def test_without_a_service_the_hint_is_to_start_one(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: REFUSED) as server:
            url = server.url
        with pytest.raises(Unavailable, match="start one with `ipulse up`"):
            job_of(connect(url, "t", retries=1)).refresh()


class TestWait:
    def test_it_returns_the_job_once_it_has_ended(self, connect: Connect) -> None:
        states = iter(["queued", "running", "running", "failed"])
        with ScriptedServer(lambda _: json_answer(job(state=next(states)))) as server:
            assert job_of(connect(server.url, "t")).wait(check=False).state is JobState.FAILED

    def test_it_gives_up_at_the_deadline(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: json_answer(job())) as server:
            client = connect(server.url, "t")
            with pytest.raises(TimeoutError, match=r"job_1 has not ended after 0\.3 s"):
                job_of(client).wait(timeout=0.3, check=False)

    def test_it_gives_up_at_the_deadline_while_no_service_is_there(self, connect: Connect) -> None:
        with ScriptedServer(lambda _: REFUSED) as server:
            url = server.url
        with pytest.raises(TimeoutError, match=r"has not ended after 0\.05 s"):
            job_of(connect(url, "t", retries=1000)).wait(timeout=0.05, check=False)
