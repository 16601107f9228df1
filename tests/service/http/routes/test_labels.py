"""A job runs only on agents with the labels that its spec asks for; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.service.agents import Attempt
from tests.service.http.routes.test_admission import grow_old, refusal
from tests.service.http.routes.test_queue import announce, claim, waits
from tests.service.http.routes.test_scheduling import submit
from tests.service.http.routes.test_starting import TRAINED, trained
from tests.service.joined import client, joined
from tests.service.running import SPEC, InProcess

AT_B = {"site": "b"}
BOTH = {**AT_B, "room": "2"}
OTHER = {"room": "3", "step": "b"}


def spec(where: dict[str, Any], **device: Any) -> dict[str, Any]:
    return {**SPEC, "device": {"kind": "cpu", **device, "where": where}}


@contextmanager
def agent(
    service: InProcess, name: str, labels: dict[str, str], *kinds: str, **more: Any
) -> Iterator[httpx.Client]:
    """Yield the client of an agent that has joined with these labels and registered."""
    _, token = joined(service, name, labels=labels)
    with client(service, token) as http:
        body = {"agent": name, "device_kinds": kinds or ("cpu",), **more}
        assert http.post("/v1/worker/agents", json=body).status_code == 204
        yield http


def claims(http: httpx.Client, name: str, kind: str = "cpu") -> httpx.Response:
    body = {"job_id": None, "agent": name, "device_kinds": [kind]}
    return http.post("/v1/worker/claims", json=body)


@pytest.mark.parametrize(
    "where", [AT_B, {"site": "*"}, {"site": "b", "room": "*"}, {"site": "b", "room": "2"}]
)
@pytest.mark.sample(2)
def test_only_an_agent_with_all_labels_gets_the_job(
    alone: InProcess, where: dict[str, str]
) -> None:
    announce(alone, "plain", "cpu")
    with agent(alone, "other", OTHER) as other, agent(alone, "right", BOTH) as right:
        wanted, free = submit(alone, spec(where)), submit(alone)
        assert claim(alone, "plain", "cpu").claim["job_id"] == free
        assert claims(other, "other").json()["code"] == "not_claimable"
        answer = claims(right, "right")
        assert answer.json()["job_id"] == wanted
        Attempt(right, answer.json()).complete()
    assert alone.job(wanted)["state"] == "succeeded"


def test_labels_that_no_agent_has_are_refused_with_what_there_is(alone: InProcess) -> None:
    announce(alone, "plain", "cpu")
    [problem] = refusal(alone, spec(AT_B), "no_matching_agent")
    assert (problem["pointer"], problem["code"]) == ("/device/where", "no_such_labels")
    assert "none" in problem["detail"]
    with agent(alone, "a", {"site": "a", "room": "2"}), agent(alone, "b", AT_B, "ipu"):
        [problem] = refusal(alone, spec(AT_B), "no_matching_agent")
        assert "room=2, site=a" in problem["detail"]
        [problem] = refusal(alone, spec({"ssd": "*"}), "no_matching_agent")
        assert "ssd=*" in problem["detail"]
        submit(alone, spec({"site": "*"}))


def test_one_agent_must_have_device_and_labels(alone: InProcess) -> None:
    announce(alone, "large", "emulator", ipus={"emulator": 64})
    with agent(alone, "b", AT_B, "emulator", ipus={"emulator": 4}):
        wanted = spec(AT_B, kind="emulator", ipus=64)
        [problem] = refusal(alone, wanted, "no_matching_agent")
        assert problem["code"] == "no_such_combination"
        assert {"64", "site=b."} <= set(problem["detail"].split())


def test_a_wait_for_labels_is_said(alone: InProcess) -> None:
    announce(alone, "plain", "cpu")
    with agent(alone, "b", AT_B) as right:
        grow_old(alone, "b")
        job = submit(alone, spec(AT_B))
        waiting = waits(alone, job)
        assert waiting["reason"] == "no_match"
        assert "site=b" in waiting["detail"]
        body = {"agent": "b", "device_kinds": ["cpu"]}
        assert right.post("/v1/worker/agents", json=body).status_code == 204
        assert waits(alone, job)["reason"] == "wake_up"
        held = claims(right, "b").json()["job_id"]
        assert held == job
        behind = waits(alone, submit(alone, spec(AT_B)))
        assert (behind["reason"], behind["holder"]) == ("device_busy", job)


def test_a_plan_counts_the_agents_with_the_labels(alone: InProcess) -> None:
    announce(alone, "plain", "cpu")
    with agent(alone, "b", AT_B):
        plan = alone.user.post("/v1/jobs:plan", json=spec(AT_B)).json()
    assert (plan["agents_with_device"], plan["able_agents"]) == (2, 1)
    assert plan["spec"]["device"]["where"] == AT_B


@pytest.mark.parametrize(
    ("where", "pointer"),
    [
        ({"Site": "b"}, "/device/where/Site"),
        ({"": "b"}, "/device/where/"),
        ({"site": "B"}, "/device/where/site"),
        ({"site": "**"}, "/device/where/site"),
        ({"site": ""}, "/device/where/site"),
        ({"site": 2}, "/device/where/site"),
        ({"site": None}, "/device/where/site"),
        ({"a=b": "c"}, "/device/where/a=b"),
        ({"site": "b" * 64}, "/device/where/site"),
        ({f"l{number}": "*" for number in range(17)}, "/device/where"),
        (["site=b"], "/device/where"),
        ("site=b", "/device/where"),
    ],
)
@pytest.mark.parametrize("kind", ["cpu", "emulator", "ipu"])
def test_wrong_labels_have_their_place(
    service: InProcess, where: Any, pointer: str, kind: str
) -> None:
    [problem] = refusal(service, spec(where, kind=kind), "invalid_spec")
    assert problem["pointer"] == pointer


def test_a_training_continues_elsewhere(alone: InProcess) -> None:
    parent = trained(alone)
    with agent(alone, "b", AT_B):
        longer = {**spec(AT_B), "training": {"epochs": TRAINED["training"]["epochs"] + 1}}
        submit(alone, longer, start_from=parent)
