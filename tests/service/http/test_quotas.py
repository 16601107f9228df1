"""Quotas: who sets them, what they refuse, and what refusals say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from tests.service.datasets.uploading import upload
from tests.service.people import checked, issued, person, submitted
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


class World:
    """A project of quinta, its owner, with the members alice and bob."""

    def __init__(self, service: InProcess, stack: ExitStack) -> None:
        self.service = service
        self.admin = service.user
        checked(service.user.post("/v1/projects", json={"name": "vision"}))
        self.quinta = person(service, stack, "quinta", vision="owner")
        self.alice = person(service, stack, "alice", vision="member")
        self.bob = person(service, stack, "bob", vision="member")

    def limit(self, user: str | None = None, **limits: int | None) -> dict[str, Any]:
        body = {"user": user, "limits": limits}
        return checked(self.admin.patch("/v1/projects/vision/quotas", json=body))


@pytest.fixture(scope="module")
def world(service: InProcess) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(service, stack)


def refused(response: httpx.Response, status: int, code: str) -> str:
    assert response.status_code == status, response.text
    body = response.json()
    assert code in (body["code"], *(each["code"] for each in body["errors"]))
    return str(body["detail"]) + "".join(each["detail"] for each in body["errors"])


def test_queued_jobs_are_refused_with_figures_and_the_fix(world: World) -> None:
    world.limit(queued_jobs=2)
    first = submitted(world.alice)
    submitted(world.bob)
    text = refused(world.alice.post("/v1/jobs", json=SPEC), 409, "quota_exceeded")
    assert "2" in text
    assert "ipulse project quota vision" in text
    batch = world.alice.post("/v1/jobs:batch", json={"jobs": [{"spec": SPEC}] * 2})
    refused(batch, 422, "quota_exceeded")
    checked(world.alice.post(f"/v1/jobs/{first['id']}/pause"))
    submitted(world.bob)
    refused(world.alice.post(f"/v1/jobs/{first['id']}/resume"), 409, "quota_exceeded")
    shown = checked(world.alice.get("/v1/projects/vision/quotas"))["quotas"]
    quota = {"project": "vision", "user": None, "name": "queued_jobs", "limit": 2, "used": 2}
    assert quota in shown
    plan = checked(world.alice.post("/v1/jobs:plan", json=SPEC))
    assert quota in plan["quotas"]
    world.limit(queued_jobs=None)
    assert checked(world.alice.post(f"/v1/jobs/{first['id']}/resume"))["state"] == "queued"


def test_a_quota_of_a_member_binds_that_member_alone(world: World) -> None:
    body = {"user": "alice", "limits": {"queued_jobs": 0}}
    checked(world.service.user.patch("/v1/projects/vision/quotas", json=body))
    text = refused(world.alice.post("/v1/jobs", json=SPEC), 409, "quota_exceeded")
    assert "--user alice" in text
    submitted(world.bob)
    world.limit("alice", queued_jobs=None)
    checked(world.admin.patch("/v1/users/alice/quotas", json={"limits": {"queued_jobs": 0}}))
    text = refused(world.alice.post("/v1/jobs", json=SPEC), 409, "quota_exceeded")
    assert "ipulse user quota alice" in text
    assert checked(world.alice.get("/v1/users/alice/quotas"))["quotas"][0]["limit"] == 0
    assert world.bob.get("/v1/users/alice/quotas").status_code == 404
    checked(world.admin.patch("/v1/users/alice/quotas", json={"limits": {"queued_jobs": None}}))
    submitted(world.alice)


def test_only_those_who_may_set_quotas_do_and_the_log_has_it(world: World) -> None:
    path = "/v1/projects/vision/quotas"
    own = {"limits": {"devices": 100}}
    member = {"user": "bob", "limits": {"devices": 3}}
    for client in (world.alice, world.quinta):
        refused(client.patch(path, json=own), 403, "not_permitted")
    refused(world.alice.patch(path, json=member), 403, "not_permitted")
    user = world.quinta.patch("/v1/users/bob/quotas", json={"limits": {"devices": 3}})
    refused(user, 403, "not_permitted")
    with ExitStack() as stack:
        scopes = ["read", "submit", "manage"]
        manages = issued(world.service, stack, user="quinta", scopes=scopes)
        checked(manages.patch(path, json=member))
        entry = checked(world.admin.get("/v1/audit", params={"action": "quota.", "target": "bob"}))
        assert entry["entries"][-1]["actor"] == "quinta"
        assert entry["entries"][-1]["detail"] == "devices: 3"
        nobody = {"user": "nobody", "limits": {"devices": 3}}
        assert manages.patch(path, json=nobody).status_code == 404
    for limits in ({"devices": -1}, {"devices": 2**63}, {"devices": 1.5}, {"priority": 101}):
        assert world.admin.patch(path, json={"limits": limits}).status_code == 422
    assert world.admin.patch(path, json={"limits": {"width": 1}}).status_code == 422
    world.limit("bob", devices=None)


def test_a_priority_above_the_highest_is_refused_wherever_it_is_given(world: World) -> None:
    world.limit(priority=5)
    high = world.alice.post("/v1/jobs", json=SPEC, params={"priority": 6})
    assert "5" in refused(high, 422, "quota_exceeded")
    job = checked(world.alice.post("/v1/jobs", json=SPEC, params={"priority": 5}))
    changed = world.alice.patch(f"/v1/jobs/{job['id']}", json={"priority": 6})
    refused(changed, 422, "quota_exceeded")
    sweep = {"sweep": "s", "spec": SPEC, "parameters": {"/seed": {"values": [1]}}, "priority": 6}
    refused(world.alice.post("/v1/sweeps", json=sweep), 422, "quota_exceeded")
    world.limit(priority=None)
    assert checked(world.alice.patch(f"/v1/jobs/{job['id']}", json={"priority": 6}))


def test_data_is_refused_before_a_byte_is_read(world: World) -> None:
    announced = {"size": 1000, "sha256": "cd" * 32, "purpose": "dataset"}
    world.limit(bytes=999)
    text = refused(world.alice.post("/v1/uploads", json=announced), 409, "quota_exceeded")
    assert "999" in text
    world.limit(bytes=None, uploads=0)
    refused(world.alice.post("/v1/uploads", json=announced), 409, "quota_exceeded")
    world.limit(uploads=None, datasets=0)
    content = b"no data set"
    body = {"upload_id": upload(cast(Any, SimpleNamespace(user=world.alice)), content)}
    path = "/v1/datasets/mine/versions"
    refused(world.alice.post(path, json=body), 409, "quota_exceeded")
    world.limit(datasets=1, checks=0)
    refused(world.alice.post(path, json=body), 409, "quota_exceeded")
    world.limit(datasets=None, checks=None)
    checked(world.alice.post(path, json=body))
