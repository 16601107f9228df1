"""Agents on the command line: who holds what, drained, resumed and removed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import httpx
import pytest

from ipulse.client import Connection
from ipulse_core import messages
from tests.ipulse.cli.conftest import SPEC, Run, finished
from tests.ipulse.live_service import LiveService


class Pod(NamedTuple):
    """An agent that has joined and registered."""

    name: str
    http: httpx.Client


@pytest.fixture
def pod(service: LiveService, client: Connection) -> Iterator[Pod]:
    name = f"pod-{secrets.token_hex(4)}"
    made = client.create_join_token({"site": "b"})
    protocol = {messages.PROTOCOL_HEADER: str(messages.PROTOCOL)}
    with httpx.Client(base_url=service.url, headers=protocol, timeout=30.0) as http:
        http.headers["authorization"] = f"Bearer {made.secret}"
        body = {"name": name, "instance": secrets.token_urlsafe(32)}
        token = http.post("/v1/worker/join", json=body).json()["token"]
        http.headers["authorization"] = f"Bearer {token}"
        registration = {"agent": name, "device_kinds": ["emulator"]}
        assert http.post("/v1/worker/agents", json=registration).status_code == 204
        yield Pod(name, http)
        http.post("/v1/worker/leave")


def claim(pod: Pod, job_id: str) -> None:
    body = {"job_id": job_id, "agent": pod.name, "device_kinds": ["emulator"]}
    pod.http.post("/v1/worker/claims", json=body).raise_for_status()


def of_pod(pod: Pod, listed: list[dict[str, Any]], key: str) -> dict[str, Any]:
    [found] = [item for item in listed if item[key] == pod.name]
    return found


def test_lists_show_the_job_that_an_agent_holds(run: Run, client: Connection, pod: Pod) -> None:
    job = client.submit({**SPEC, "device": {"kind": "emulator"}})
    claim(pod, job.id)
    listed = of_pod(pod, run("agent", "list", "--json").json["agents"], "name")
    assert (listed["state"], listed["holds"]["job_id"]) == ("busy", job.id)
    device = of_pod(pod, run("devices", "--json").json["devices"], "agent")
    assert (device["kind"], device["state"]) == ("emulator", "busy")
    for command in (["agent", "list"], ["devices"]):
        [line] = [line for line in run(*command).out.splitlines() if line.startswith(pod.name)]
        assert job.id in line
        assert "site=b" in line


def test_an_agent_of_unknown_data_sets_is_named_with_the_remedy(run: Run, pod: Pod) -> None:
    hints = run("agent", "list").err
    assert pod.name in hints
    assert "ipulse agent remove" in hints
    registration = {"agent": pod.name, "device_kinds": ["emulator"], "data_sets": []}
    assert pod.http.post("/v1/worker/agents", json=registration).status_code == 204
    assert pod.name not in run("agent", "list").err


def test_a_drain_and_its_end(run: Run, pod: Pod) -> None:
    assert run("agent", "drain", pod.name, "--within", "60", "--json").json["state"] == "drained"
    assert run("agent", "drain", pod.name).code == 0
    assert run("agent", "resume", pod.name, "--json").json["state"] == "idle"


def test_a_removed_agent_is_gone(run: Run, pod: Pod) -> None:
    assert run("agent", "remove", pod.name, "--yes").code == 0
    assert pod.http.post("/v1/worker/leave").status_code == 401
    assert run("agent", "remove", pod.name, "--yes").code == 3
    assert run("agent", "drain", pod.name).code == 3


@pytest.mark.parametrize("name", ["nobody", "", "..", "a/b", "\u202e", "x" * 200])
def test_an_agent_that_is_none_is_not_found(run: Run, name: str) -> None:
    for command in ("drain", "resume", "remove"):
        assert run("agent", command, "--", name).code in (2, 3)


def test_a_join_token_can_be_taken_back(run: Run) -> None:
    options = ["--join-url", "https://lab.example.org", "--uses", "3", "--json"]
    made = run("agent", "token", *options).json
    [listed] = [
        token
        for token in run("agent", "tokens", "--json").json["join_tokens"]
        if token["id"] == made["about"]["id"]
    ]
    assert listed["uses_left"] == 3
    assert made["about"]["id"] in run("agent", "tokens").out
    assert run("agent", "revoke", listed["id"], "--yes").code == 0
    assert run("agent", "revoke", listed["id"], "--yes").code == 3
    assert run("agent", "revoke", "../tokens", "--yes").code == 3


def test_the_end_of_a_join_token_is_shown_in_local_time(service: LiveService, run: Run) -> None:
    def ends() -> dict[str, str]:
        listed = run("agent", "tokens", "--json").json["join_tokens"]
        return {token["id"]: token["expires_at"] for token in listed}

    former = ends()
    options = ["--join-url", "https://lab.example.org"]
    home = {"IPULSE_HOME": str(service.home), "TZ": "EAST-9"}
    made = finished("agent", "token", *options, **home)
    [end] = [end for token, end in ends().items() if token not in former]
    local = datetime.fromisoformat(end).astimezone(timezone(timedelta(hours=9)))
    assert f"{local:%Y-%m-%d %H:%M}" in made.err
    assert run("agent", "revoke", *(set(ends()) - set(former)), "--yes").code == 0


def test_a_service_without_https_says_what_to_do(run: Run) -> None:
    done = run("agent", "token", "--json")
    assert (done.code, done.json["error"]["code"]) == (5, "unavailable")
