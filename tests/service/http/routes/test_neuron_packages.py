"""Packages of neurons: refused unless signed off, and given only to agents that have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.cli import main
from ipulse.stack.redis_server import RedisServer
from tests.service.conditions import eventually
from tests.service.http.routes.test_queue import announce, claim
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for

PACKAGE = f"dendrites@sha256:{'ab' * 32}"
OTHER = f"dendrites@sha256:{'cd' * 32}"
DECAY = {
    "name": "decay",
    "default": 0.7,
    "minimum": 0.0,
    "maximum": 0.95,
    "per_neuron": True,
    "trainable": False,
}


def described(package: str = PACKAGE) -> dict[str, Any]:
    return {"package": package, "version": "dendrites 1.0", "parameters": [DECAY]}


def spec(package: str = PACKAGE, **changes: Any) -> dict[str, Any]:
    neuron = {"package": package, "parameters": changes.pop("parameters", [])}
    layer = {"kind": "package", "neurons": 8, "neuron": neuron}
    return {"version": 1, "network": {"layers": [layer]}, **changes}


@pytest.fixture
def signed(tmp_path: Path, redis_server: RedisServer) -> Iterator[InProcess]:
    """A service whose owner signed off one package."""
    settings = settings_for(tmp_path / "home", redis_server.url, neuron_packages=[PACKAGE])
    with InProcess(settings) as running:
        yield running


def refused(service: InProcess, document: dict[str, Any]) -> dict[str, Any]:
    for path in ("/v1/jobs:validate", "/v1/jobs"):
        problem = check_problem(service.user.post(path, json=document), 422)
    [error] = problem["errors"]
    return dict(error)


def test_by_default_none_is_signed_off(alone: InProcess) -> None:
    error = refused(alone, spec())
    assert error["pointer"] == "/network/layers/0/neuron/package"
    announce(alone, "a", "cpu", neuron_packages=[described()])
    assert refused(alone, spec())["code"] == "package_not_signed_off"
    [agent] = alone.user.get("/v1/agents").json()["agents"]
    assert agent["neuron_packages"] == []


def test_only_an_agent_that_has_it_gets_the_job(signed: InProcess) -> None:
    announce(signed, "a", "cpu")
    assert refused(signed, spec())["code"] == "package_not_signed_off"
    announce(signed, "b", "cpu", neuron_packages=[described(), described(OTHER)])
    agents = {each["name"]: each for each in signed.user.get("/v1/agents").json()["agents"]}
    assert agents["b"]["neuron_packages"] == [described()]
    job = signed.user.post("/v1/jobs", json=spec())
    assert job.status_code == 202, job.text
    body = {"agent": "a", "device_kinds": ["cpu"], "job_id": job.json()["id"]}
    problem = check_problem(signed.worker.post("/v1/worker/claims", json=body), 409)
    assert problem["code"] == "not_claimable"
    plain = signed.user.post(
        "/v1/jobs", json={"version": 1, "network": {"layers": [{"neurons": 4}]}}
    )
    assert claim(signed, "a", "cpu").claim["job_id"] == plain.json()["id"]
    assert claim(signed, "b", "cpu").claim["job_id"] == job.json()["id"]


def test_a_job_says_that_it_waits_for_a_package(signed: InProcess) -> None:
    announce(signed, "b", "cpu", neuron_packages=[described()])
    job = signed.user.post("/v1/jobs", json=spec()).json()
    announce(signed, "b", "cpu")  # its administrator removed it
    waiting: dict[str, Any] = {}

    def says_so() -> bool:
        waiting.update(signed.user.get(f"/v1/jobs/{job['id']}").json()["waiting_on"])
        return waiting["reason"] == "no_match"

    eventually(says_so)
    assert PACKAGE in waiting["detail"]


def test_another_digest_is_refused_with_the_one_that_is_signed_off(signed: InProcess) -> None:
    announce(signed, "b", "cpu", neuron_packages=[described(), described(OTHER)])
    error = refused(signed, spec(OTHER))
    assert error["pointer"] == "/network/layers/0/neuron/package"
    assert PACKAGE in error["detail"]


@pytest.mark.parametrize(
    ("parameter", "pointer"),
    [
        ({"name": "decay", "value": 0.99}, "value"),
        ({"name": "tau"}, "name"),
        ({"name": "decay", "trainable": True}, "trainable"),
    ],
)
def test_parameters_must_fit_the_package(
    signed: InProcess, parameter: dict[str, Any], pointer: str
) -> None:
    announce(signed, "b", "cpu", neuron_packages=[described()])
    error = refused(signed, spec(parameters=[parameter]))
    assert error["pointer"] == f"/network/layers/0/neuron/parameters/0/{pointer}"


def test_a_service_that_starts_without_it_in_its_list_forgets_it(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    home = tmp_path / "home"
    with InProcess(settings_for(home, redis_server.url, neuron_packages=[PACKAGE])) as before:
        announce(before, "b", "cpu", neuron_packages=[described()])
        assert before.user.post("/v1/jobs", json=spec()).status_code == 202
    with InProcess(settings_for(home, redis_server.url)) as after:
        assert refused(after, spec())["code"] == "package_not_signed_off"
        body = {"agent": "b", "device_kinds": ["cpu"]}
        check_problem(after.worker.post("/v1/worker/claims", json=body), 409)


@pytest.mark.parametrize(
    "wrong",
    [
        {**described(), "package": "dendrites"},
        {**described(), "parameters": [{**DECAY, "default": 2.0}]},
        {**described(), "parameters": [DECAY, DECAY] * 9},
    ],
)
def test_a_description_that_makes_no_sense_is_refused(
    signed: InProcess, wrong: dict[str, Any]
) -> None:
    body = {"agent": "a", "device_kinds": ["cpu"], "neuron_packages": [wrong]}
    check_problem(signed.worker.post("/v1/worker/agents", json=body), 422)


def test_the_command_line_lists_packages_of_agents(
    signed: InProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("b", "a"):
        announce(signed, name, "cpu", neuron_packages=[described(), described(OTHER)])
    at = ["--url", signed.url, "--token-file", str(signed.settings.token_file)]
    capsys.readouterr()
    assert main(["neurons", "list", "--json", *at]) == 0
    [found] = json.loads(capsys.readouterr().out)["neuron_packages"]
    assert (found["package"], found["here"]) == (PACKAGE, None)
    assert sorted(found["agents"]) == ["a", "b"]
    assert found["parameters"] == [DECAY]
