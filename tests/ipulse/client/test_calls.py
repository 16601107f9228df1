"""Calls: the requests and the responses."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Artifact, AsyncConnection, Job, JobEvent
from ipulse.spec import parse_spec, spec_to_json
from ipulse_core.errors import (
    Conflict,
    InvalidInput,
    InvalidSpec,
    NotFound,
)
from ipulse_core.limits import MAX_NIR_BYTES
from ipulse_core.states import JobState
from tests.ipulse.scripted_server import (
    Answer,
    Request,
    ScriptedServer,
    discarding_server,
    in_turn,
    json_answer,
    problem_answer,
)

from .conftest import Connect, job_of
from .samples import artifact, event, job

SPEC: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
IMPORTED = {"spec": {}, "notes": [], "arrays": {}, "weights": {"sha256": "ab" * 32}}
REFUSED = Answer(500, b"oops", {"Content-Type": "text/plain"})


def test_a_closed_client_is_an_error(connect: Connect) -> None:
    client = connect("http://127.0.0.1:1", "t")
    client.close()
    with pytest.raises(Conflict, match="closed: make another"):
        job_of(client).refresh()
    with pytest.raises(Conflict, match="closed: make another"):
        next(job_of(client).watch())


def test_another_event_loop_is_an_error_with_a_hint() -> None:
    async def get(client: AsyncConnection) -> None:
        await job_of(client).refresh()

    last = json_answer(job())
    last.headers["Connection"] = "close"  # or the first loop would leave a connection behind
    with ScriptedServer(lambda _: last) as server:
        client = AsyncConnection(server.url, "t")
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
        answers = {
            "/v1/jobs": json_answer(job(), 202),
            "/v1/jobs:batch": json_answer({"jobs": [{"pointer": "/jobs/0", "job": job()}]}, 202),
        }
        with ScriptedServer(lambda request: answers[request.path]) as server:
            client = connect(server.url, "t")
            for way in ways:
                assert client.submit(way).id == "job_1"
            bodies = [json.loads(request.body) for request in server.requests]
        of_files = [body["jobs"][0] for body in bodies[2:]]
        assert {one["submitted"]["text"] for one in of_files} == {yaml.read_text()}
        specs = [*bodies[:2], *(one["spec"] for one in of_files)]
        assert specs[0] == SPEC
        assert len({json.dumps(spec_to_json(parse_spec(spec))) for spec in specs}) == 1
        # Without the defaults of this version: another one fills in its own.
        assert all(set(spec) <= {"version", "kind", "network"} for spec in specs)

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
            result = job_of(connect(server.url, "t")).refresh()
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
            assert job_of(client).refresh() == job_of(client).refresh() == job_of(client).refresh()
            asked = [request.headers.get("if-none-match") for request in server.requests]
        assert asked == [None, '"1"', '"1"']

    @pytest.mark.parametrize("job_id", ["", ".", "..", "a/b", "a%2fb", "../healthz", "x" * 200])
    def test_what_is_no_id_is_not_asked_for(self, connect: Connect, job_id: str) -> None:
        with ScriptedServer(lambda _: json_answer(job())) as server:
            found = job_of(connect(server.url, "t"), job_id)
            calls: list[Any] = [found.refresh, found.cancel, found.artifacts, found.profile]
            for call in [*calls, lambda: list(found.watch())]:
                with pytest.raises(NotFound):
                    call()
            assert server.requests == []


class TestLists:
    def test_jobs_come_page_by_page(self, connect: Connect) -> None:
        def answer(request: Request) -> Answer:
            if "page_token=p2" in request.path:
                return json_answer({"jobs": [job(id="c")], "next_page_token": ""})
            return json_answer({"jobs": [job(id="a"), job(id="b")], "next_page_token": "p2"})

        with ScriptedServer(answer) as server:
            result = [job.id for job in connect(server.url, "t").jobs(state="running", page_size=2)]
            paths = [request.path for request in server.requests]
        assert result == ["a", "b", "c"]
        assert all("state=running" in path and "page_size=2" in path for path in paths)

    def test_an_unknown_state_lists_the_known_ones(self, connect: Connect) -> None:
        with pytest.raises(InvalidInput, match="queued, preparing"):
            list(connect("http://127.0.0.1:1", "t").jobs(state="sleeping"))

    def test_events_come_page_by_page_also_past_an_empty_one(self, connect: Connect) -> None:
        pages: dict[str, Any] = {
            "after=0": {"events": [event(1)], "next_after": 5, "end": False},
            "after=5": {"events": [], "next_after": 9, "end": False},
            "after=9": {"events": [event(12)], "next_after": 12, "end": True},
        }

        def answer(request: Request) -> Answer:
            return json_answer(pages[request.path.split("?")[1].split("&")[0]])

        with ScriptedServer(answer) as server:
            result = list(job_of(connect(server.url, "t")).events(kinds=["log", "state"]))
            assert all("kind=log&kind=state" in request.path for request in server.requests)
        assert [event.seq for event in result] == [1, 12]

    def test_events_of_a_job_still_running_stop_at_the_last_one(self, connect: Connect) -> None:
        pages = in_turn(
            json_answer({"events": [event(1)], "next_after": 1, "end": False}),
            json_answer({"events": [], "next_after": 1, "end": False}),
        )
        with ScriptedServer(pages) as server:
            assert [event.seq for event in job_of(connect(server.url, "t")).events()] == [1]

    def test_artifacts_contain_the_whole_response(self, connect: Connect) -> None:
        value: dict[str, Any] = {"artifacts": [artifact("a", b"x")], "complete": True}
        with ScriptedServer(lambda _: json_answer(value)) as server:
            (result,) = job_of(connect(server.url, "t")).artifacts()
        assert result.json == value["artifacts"][0]


def test_a_nir_file_is_sent_again_as_a_whole(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "large.nir"
    content = bytes(range(251)) * 10_000
    path.write_bytes(content)
    busy = problem_answer(503, "unavailable")
    with ScriptedServer(in_turn(busy, json_answer(IMPORTED))) as server:
        assert connect(server.url, "t").import_nir(path).weights_sha256 == "ab" * 32
        assert [request.body == content for request in server.requests] == [True, True]


def test_a_nir_file_is_not_held_in_memory(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "large.nir"
    with path.open("wb") as file:
        file.truncate(MAX_NIR_BYTES // 4)
    with discarding_server(json_answer(IMPORTED)) as url:
        client = connect(url, "t")
        tracemalloc.start()
        try:
            client.import_nir(path)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 2**23


def test_a_nir_file_that_is_too_large_is_not_sent(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "large.nir"
    with path.open("wb") as file:
        file.truncate(MAX_NIR_BYTES + 1)
    with pytest.raises(InvalidInput, match="ipulse nir import") as caught:
        connect("http://127.0.0.1:1", "t").import_nir(path)
    assert [problem.pointer for problem in caught.value.problems] == ["/path"]
