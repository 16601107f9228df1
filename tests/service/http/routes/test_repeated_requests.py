"""Every request of an agent may come twice, because its answer was lost: what happens then."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import httpx
import pytest

from tests.service.agents import PHASES, Attempt, line, phase
from tests.service.joined import Machine, client, join_token, joined
from tests.service.running import InProcess

Answers = tuple[httpx.Response, httpx.Response]
Repeat = Callable[[InProcess], Answers]

ATTEMPT = "/v1/worker/attempts/{attempt_id}"
_REPEATS: dict[tuple[str, str], Repeat] = {}


def repeats(method: str, path: str) -> Callable[[Repeat], Repeat]:
    def register(function: Repeat) -> Repeat:
        _REPEATS[method, path] = function
        return function

    return register


def held(service: InProcess) -> Attempt:
    return service.attempt(service.submit()["id"])


def twice(send: Callable[[], httpx.Response]) -> Answers:
    return send(), send()


def read_twice(service: InProcess, what: str, method: str = "GET", **query: str) -> Answers:
    attempt = held(service)
    headers = {"ipulse-fence": attempt.fence}
    path = f"{attempt.path}{what}"
    answers = twice(lambda: service.worker.request(method, path, headers=headers, params=query))
    assert service.job(attempt.claim["job_id"])["state"] == "preparing"
    assert attempt.finish("diverged").status_code == 200
    return answers


@repeats("POST", "/v1/worker/agents")
def registers(service: InProcess) -> Answers:
    body = {"agent": "twice", "device_kinds": ["cpu"]}
    answers = twice(lambda: service.worker.post("/v1/worker/agents", json=body))
    names = [agent["name"] for agent in service.user.get("/v1/agents").json()["agents"]]
    assert names.count("twice") == 1
    return answers


@repeats("POST", "/v1/worker/sign-off")
def signs_off(service: InProcess) -> Answers:
    body = {"agent": "twice"}
    return twice(lambda: service.worker.post("/v1/worker/sign-off", json=body))


@repeats("GET", "/v1/worker/wakeups")
def waits_for_work(service: InProcess) -> Answers:
    """The hint is repeated, too: it is taken by the claim."""
    job_id = service.submit()["id"]
    query = {"agent": "twice", "kind": "cpu"}
    answers = twice(lambda: service.worker.get("/v1/worker/wakeups", params=query))
    service.user.post(f"/v1/jobs/{job_id}/cancel")
    return answers


@repeats("POST", "/v1/worker/claims")
def claims(service: InProcess) -> Answers:
    service.submit()
    body = {"agent": "twice", "device_kinds": ["cpu"], "fence": "a" * 40}
    answers = twice(lambda: service.worker.post("/v1/worker/claims", json=body))
    job = Attempt(service.worker, answers[1].json()).finish("diverged").json()
    assert len(job["attempts"]) == 1
    return answers


@repeats("POST", "/v1/worker/join")
def joins(service: InProcess) -> Answers:
    """The same machine gets another token; the one that was lost ends."""
    token, machine = join_token(service)["token"], Machine(service)
    answers = twice(lambda: machine.join(token, "joins-twice"))
    assert answers[0].json()["name"] == answers[1].json()["name"]
    with client(service, answers[1].json()["token"]) as agent:
        assert agent.get("/v1/worker/wakeups?agent=joins-twice").status_code == 200
    return answers


@repeats("POST", "/v1/worker/token")
def renews_its_token(service: InProcess) -> Answers:
    """The former token is valid until a new one is used."""
    _, token = joined(service)
    with client(service, token) as agent:
        return twice(lambda: agent.post("/v1/worker/token", json={}))


@repeats("POST", "/v1/worker/leave")
def leaves(service: InProcess) -> Answers:
    """Its token ends with it: the second request says so, and changes nothing."""
    name, token = joined(service)
    with client(service, token) as agent:
        left, again = twice(lambda: agent.post("/v1/worker/leave", json={}))
    assert again.status_code == 401
    assert name not in service.user.get("/v1/agents").text
    return left, left


@repeats("POST", f"{ATTEMPT}/heartbeat")
def beats(service: InProcess) -> Answers:
    attempt = held(service)
    answers = twice(attempt.heartbeat)
    attempt.finish("diverged")
    return answers


@repeats("GET", ATTEMPT)
def asks_for_orders(service: InProcess) -> Answers:
    return read_twice(service, "")


@repeats("GET", f"{ATTEMPT}/start-file")
def downloads_a_start_file(service: InProcess) -> Answers:
    return read_twice(service, "/start-file")


@repeats("GET", ATTEMPT + "/ops/{digest}")
def downloads_an_op(service: InProcess) -> Answers:
    return read_twice(service, "/ops/" + "0" * 64)


@repeats("GET", f"{ATTEMPT}/dataset")
def downloads_a_data_set(service: InProcess) -> Answers:
    return read_twice(service, "/dataset")


@repeats("HEAD", ATTEMPT + "/artifacts/{name}")
def asks_for_an_offset(service: InProcess) -> Answers:
    query = {"role": "weights", "sha256": "0" * 64, "size": "1", "media_type": "text/plain"}
    return read_twice(service, "/artifacts/w", "HEAD", **query)


@repeats("POST", f"{ATTEMPT}/events")
def reports(service: InProcess) -> Answers:
    attempt = held(service)
    body = {"first": 1, "events": [phase("run"), line("once")]}
    answers = twice(lambda: attempt.post("events", body))
    job_id = attempt.claim["job_id"]
    assert len(service.events(job_id, kind="log")["events"]) == 1
    attempt.finish("diverged")
    return answers


@repeats("PUT", ATTEMPT + "/artifacts/{name}")
def uploads(service: InProcess) -> Answers:
    """The second answer is 200 instead of 201, with the same artifact."""
    attempt = held(service)
    first, again = twice(lambda: attempt.put("w", "weights", b"weights"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    attempt.finish("diverged")
    return again, again


@repeats("PATCH", ATTEMPT + "/artifacts/{name}")
def resumes_an_upload(service: InProcess) -> Answers:
    """The rest is there already: the agent asks for the offset, and sends the file again."""
    attempt, content = held(service), b"weights" * 9
    cut = attempt.put("w", "weights", content, sent=content[:5], offset=0)
    assert cut.status_code == 204
    first, again = twice(lambda: attempt.put("w", "weights", content, sent=content[5:], offset=5))
    assert (first.status_code, again.json()["code"]) == (201, "wrong_offset")
    assert attempt.arrived("w", "weights", content) == "0"
    whole = attempt.put("w", "weights", content)
    assert (whole.status_code, whole.json()) == (200, first.json())
    attempt.finish("diverged")
    return whole, whole


@repeats("POST", f"{ATTEMPT}/finish")
def finishes(service: InProcess) -> Answers:
    """With its last events and the manifest."""
    attempt = held(service)
    manifest = b'{"files": []}\n'
    body = {
        "reason": "completed",
        "first": 1,
        "events": [phase(name) for name in PHASES],
        "manifest": {
            "name": "manifest.json",
            "sha256": hashlib.sha256(manifest).hexdigest(),
            "base64": base64.b64encode(manifest).decode(),
        },
    }
    answers = twice(lambda: attempt.post("finish", body))
    assert answers[0].json()["state"] == "succeeded"
    assert len(answers[1].json()["attempts"]) == 1
    return answers


def test_every_worker_route_is_here(service: InProcess) -> None:
    paths = service.user.get("/openapi.json").json()["paths"]
    routes = {
        (method.upper(), path)
        for path, operations in paths.items()
        for method in operations
        if path.startswith("/v1/worker")
    }
    assert routes == set(_REPEATS)


@pytest.mark.parametrize("route", sorted(_REPEATS), ids=" ".join)
def test_a_repetition_gets_the_same_answer(service: InProcess, route: tuple[str, str]) -> None:
    first, again = _REPEATS[route](service)
    assert first.status_code == again.status_code
    bodies = [answer.json() if answer.content else None for answer in (first, again)]
    if route[1] not in ("/v1/worker/join", "/v1/worker/token"):  # a new token each time
        for body in bodies:
            if isinstance(body, dict):
                body.pop("request_id", None)
        assert bodies[0] == bodies[1]
