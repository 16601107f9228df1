"""Pools: their agents, the projects that may use them, and refusals."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.service.http.routes.test_labels import agent, claims
from tests.service.http.routes.test_queue import announce, claim, waits
from tests.service.http.routes.test_scheduling import submit
from tests.service.people import checked, person
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


def create(service: InProcess, name: str, **content: Any) -> dict[str, Any]:
    return checked(service.user.post("/v1/pools", json={"name": name, **content}))


def spec(pool: str) -> dict[str, Any]:
    return {**SPEC, "device": {"kind": "cpu", "pool": pool}}


def problem(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 422, response.text
    [found] = response.json()["errors"]
    return dict(found)


def test_a_job_runs_in_its_pool_only(alone: InProcess) -> None:
    assert create(alone, "room", labels={"room": "2"}, preemption="share")["members"] == []
    announce(alone, "plain", "cpu")
    with agent(alone, "right", {"room": "2", "site": "b"}) as right:
        pools = {each["name"]: each for each in alone.user.get("/v1/pools").json()["pools"]}
        assert pools["default"]["members"] == ["plain"]
        assert pools["room"]["members"] == ["right"]
        free, wanted = submit(alone), submit(alone, spec("room"))
        assert alone.job(wanted)["spec"]["device"]["pool"] == "room"
        found = alone.user.get("/v1/jobs", params={"q": "device.pool:room"}).json()["jobs"]
        assert [each["id"] for each in found] == [wanted]
        plan = checked(alone.user.post("/v1/jobs:plan", json=spec("room")))
        assert (plan["agents"], plan["able_agents"]) == (2, 1)
        assert claims(right, "right").json()["job_id"] == wanted
        assert claims(right, "right").json()["code"] == "not_claimable"
        assert claim(alone, "plain", "cpu").claim["job_id"] == free
        assert alone.user.get("/v1/agents/right").json()["pool"] == "room"


def test_names_of_agents_come_before_labels(alone: InProcess) -> None:
    create(alone, "a-room", labels={"room": "2"})
    create(alone, "pods", agents=["pod-*"])
    with agent(alone, "pod-1", {"room": "2"}), agent(alone, "other", {"room": "2"}):
        pools = {each["name"]: each for each in alone.user.get("/v1/pools").json()["pools"]}
        assert pools["pods"]["members"] == ["pod-1"]
        assert pools["a-room"]["members"] == ["other"]
        twice = alone.user.post("/v1/pools", json={"name": "more", "agents": ["pod-*"]})
        assert problem(twice)["code"] == "in_another_pool"


def test_only_jobs_of_its_projects_run_in_a_pool(alone: InProcess) -> None:
    announce(alone, "lab-1", "cpu")
    checked(alone.user.post("/v1/projects", json={"name": "vision"}))
    create(alone, "lab", agents=["lab-1"])
    with ExitStack() as stack:
        quinta = person(alone, stack, "quinta", vision="member")
        job = checked(quinta.post("/v1/jobs", json=spec("lab")))["id"]
        change = {"projects": ["default"]}
        checked(alone.user.patch("/v1/pools/lab", json=change))
        assert waits(alone, job)["reason"] == "pool"
        refused = problem(quinta.post("/v1/jobs", json=spec("lab")))
        assert (refused["pointer"], refused["code"]) == ("/device/pool", "pool_not_allowed")
        assert "default" in refused["detail"]
        [seen] = [each for each in quinta.get("/v1/pools").json()["pools"] if each["name"] == "lab"]
        assert seen["projects"] == []  # it cannot read that one
        for method, path in (("PATCH", "/v1/pools/lab"), ("DELETE", "/v1/pools/lab")):
            assert quinta.request(method, path, json={}).status_code == 403
    other = submit(alone, spec("lab"))
    assert claim(alone, "lab-1", "cpu").claim["job_id"] == other
    assert alone.user.delete("/v1/pools/lab").json()["code"] == "pool_in_use"


def test_an_unknown_pool_is_refused_with_those_that_exist(alone: InProcess) -> None:
    create(alone, "lab")
    refused = problem(alone.user.post("/v1/jobs:validate", json=spec("lub")))
    assert refused["pointer"] == "/device/pool"
    assert "lab" in refused["detail"]
    assert alone.user.patch("/v1/pools/lub", json={}).status_code == 404
    assert alone.user.post("/v1/pools", json={"name": "lab"}).json()["code"] == "pool_in_use"
    assert alone.user.delete("/v1/pools/default").status_code == 409
    for content in ({"labels": {"a": "b"}}, {"agents": ["a"]}, {"projects": ["none"]}):
        assert alone.user.patch("/v1/pools/default", json=content).status_code == 422
    for name in ("", "Lab", "a b", "../x", "x" * 64):
        assert alone.user.post("/v1/pools", json={"name": name}).status_code == 422
    assert alone.user.delete("/v1/pools/lab").status_code == 204


def test_reservations_are_made_listed_and_ended(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    checked(alone.user.post("/v1/projects", json={"name": "vision"}))
    path = "/v1/pools/default/reservations"
    body = {"project": "vision", "agents": 1, "ends_at": "2100-01-01T00:00:00Z"}
    assert problem(alone.user.post(path, json=body))["pointer"] == "/ends_at"
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for wrong in ({"agents": 2}, {"agents": 0}, {"ends_at": "2001-01-01"}, {"ends_at": "soon"}):
        assert alone.user.post(path, json={**body, "ends_at": soon, **wrong}).status_code == 422
    assert alone.user.post(path, json={**body, "project": "none"}).status_code == 404
    made = checked(alone.user.post(path, json={**body, "ends_at": soon}))
    job = submit(alone)
    wait = waits(alone, job)
    assert (wait["reason"], wait["estimated_start"]) == ("reservation", made["ends_at"])
    with ExitStack() as stack:
        cem = person(alone, stack, "cem", default="member")
        [seen] = cem.get("/v1/reservations").json()["reservations"]
        assert (seen["project"], seen["agents"]) == (None, 1)
        assert cem.post(path, json=body).status_code == 403
        assert cem.delete(f"/v1/reservations/{made['id']}").status_code == 403
    assert alone.user.delete(f"/v1/reservations/{made['id']}").status_code == 204
    assert alone.user.delete(f"/v1/reservations/{made['id']}").status_code == 404
    assert claim(alone, "a", "cpu").claim["job_id"] == job
