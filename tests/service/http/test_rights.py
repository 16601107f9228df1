"""Who may see and change what: by roles in projects, on every route."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.service import pushed_ops
from tests.service.conditions import eventually
from tests.service.http.test_auth import OPEN, VIEW
from tests.service.people import checked, issued, person, submitted, with_token
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

SECRET = "hidden-text"  # noqa: S105  # in all texts of what only one project sees
MISSING = {
    "job_id": "job_" + "0" * 24,
    "sweep_id": "swp_" + "0" * 24,
    "upload_id": "upl_" + "0" * 24,
    "digest": "0" * 64,
    "project": "nowhere",
    "token_id": "0" * 16,
}
BODIES: dict[str, Any] = {
    "PATCH /v1/jobs/{job_id}": {"priority": 9},
    "POST /v1/jobs/{job_id}/continue": {"epochs": 1},
    "PATCH /v1/sweeps/{sweep_id}": {"parallel": 2},
    "PATCH /v1/projects/{project}": {"description": "mine"},
    "PUT /v1/projects/{project}/members/{user}": {"role": "owner"},
    "PATCH /v1/projects/{project}/quotas": {"limits": {"devices": 1}},
}
SWEEP: dict[str, Any] = {
    "sweep": SECRET,
    "spec": {**SPEC, "name": SECRET},
    "method": "grid",
    "parameters": {"/seed": {"values": [1, 2]}},
    "parallel": 1,
}


class World:
    """Two projects: alice, bob and max are in `default`; quinta alone in `vision`."""

    def __init__(self, service: InProcess, stack: ExitStack) -> None:
        self.service = service
        self.stack = stack
        checked(service.user.post("/v1/projects", json={"name": "vision"}))
        self.alice = person(service, stack, "alice", default="member")
        self.bob = person(service, stack, "bob", default="member")
        self.max = person(service, stack, "max", default="maintainer")
        self.quinta = person(service, stack, "quinta", vision="developer")
        checked(service.worker.post("/v1/worker/agents", json=AGENT))
        self.job = submitted(self.quinta, name=SECRET, metadata={SECRET: SECRET})
        self.sweep = checked(self.quinta.post("/v1/sweeps", json=SWEEP))
        content = pushed_ops.package(note=SECRET)
        coder = issued(service, stack, user="quinta", submit_code=True)
        assert pushed_ops.pushed(coder, content).status_code == 204
        self.op = hashlib.sha256(content).hexdigest()
        upload = {"size": 3, "sha256": "ab" * 32, "purpose": "dataset"}
        self.upload = checked(self.quinta.post("/v1/uploads", json=upload))
        token = {"name": SECRET, "seconds": 60}
        self.token = checked(self.quinta.post("/v1/tokens", json=token))["about"]

    @property
    def hidden(self) -> dict[str, str]:
        """Values of parameters of paths that lead to what only `vision` sees."""
        return {
            "job_id": self.job["id"],
            "sweep_id": self.sweep["id"],
            "upload_id": self.upload["id"],
            "digest": self.op,
            "project": "vision",
            "token_id": self.token["id"],
        }


AGENT = {"agent": "agent-1", "device_kinds": ["cpu"]}


@pytest.fixture(scope="module")
def world(service: InProcess) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(service, stack)


def operations(service: InProcess) -> list[tuple[str, str]]:
    """Method and path of every route for people."""
    found = [
        (method, str(route.path))
        for route in iter_route_contexts(service.app.routes)
        for method in sorted(route.methods or ())
    ]
    return [
        (method, path)
        for method, path in found
        if path not in OPEN | VIEW and not path.startswith("/v1/worker/")
    ]


def body_of(method: str, path: str) -> dict[str, Any]:
    return {"json": BODIES.get(f"{method} {path}", {})} if method not in ("GET", "HEAD") else {}


def test_another_member_can_neither_change_nor_cancel_nor_delete_a_job(world: World) -> None:
    with ExitStack() as stack:
        first, second = (issued(world.service, stack, role="user") for _ in range(2))
        job = submitted(first)
        path = f"/v1/jobs/{job['id']}"
        assert second.get(path).json()["owner"] == job["created_by"] == job["owner"]
        refused = [
            second.patch(path, json={"priority": 99}),
            second.post(f"{path}/cancel"),
            second.delete(path),
        ]
        for response in refused:
            assert (response.status_code, response.json()["code"]) == (403, "not_permitted")
            assert "maintainer" in response.json()["detail"]
        checked(second.post("/v1/jobs:cancel", params={"all": "true"}))
        assert first.get(path).json()["version"] == job["version"]
        checked(world.max.patch(path, json={"priority": 3}))
        assert checked(first.post(f"{path}/cancel"))["state"] == "cancelled"


def test_n1_every_path_to_what_is_hidden_is_as_one_to_nothing(world: World) -> None:
    tried = 0
    for method, path in operations(world.service):
        names = re.findall(r"\{(\w+)\}", path)
        if not set(names) & world.hidden.keys():
            continue
        others = {"user": "alice", "artifact_id": "art_" + "0" * 24}
        bodies = []
        for values in (world.hidden, MISSING):
            url = re.sub(r"\{(\w+)\}", lambda match: {**others, **values}[match[1]], path)  # noqa: B023
            response = world.alice.request(method, url, **body_of(method, path))
            assert SECRET not in response.text
            body = response.json() if response.content else {}
            bodies.append(
                (response.status_code, {**body, "request_id": "", "instance": ""}, len(url))
            )
        assert bodies[0][:2] == bodies[1][:2], (method, path)
        if (method, path) not in ADMINISTRATION:
            assert bodies[0][0] == 404 or (method == "PATCH" and "upload" in path), (method, path)
        tried += 1
    assert tried > 25


# For administrators; others are refused before anything is looked up.
ADMINISTRATION = {
    ("DELETE", "/v1/join-tokens/{token_id}"),
    ("PATCH", "/v1/tokens/{token_id}"),
}


def test_no_list_contains_what_is_hidden(world: World) -> None:
    hidden = [value for name, value in world.hidden.items() if name != "project"]
    queries: dict[str, list[dict[str, Any]]] = {
        "/v1/jobs": [{}, {"count": "true", "waiting_on": "true"}, {"q": SECRET}],
        "/v1/jobs:suggest": [{"q": "name:"}, {"q": "label."}, {"q": "owner:"}, {"q": "group:"}],
        "/v1/jobs:columns": [{}],
    }
    for method, path in operations(world.service):
        if method != "GET" or "{" in path or path in ("/openapi.json", "/metrics"):
            continue
        for query in queries.get(path, [{}]):
            text = world.alice.get(path, params=query).text
            assert SECRET not in text, (path, query)
            assert "quinta" not in text, (path, query)
            assert not [value for value in hidden if value in text], (path, query)
            if path == "/v1/jobs" and "count" in query:
                assert json.loads(text)["total"] == len(json.loads(text)["jobs"])
    assert SECRET in world.quinta.get("/v1/jobs").text
    assert SECRET in world.service.user.get("/v1/jobs").text


def test_every_change_needs_more_than_to_read(world: World) -> None:
    with ExitStack() as stack:
        reader = issued(world.service, stack, role="reader")
        own = {"/v1/session", "/v1/sessions", "/v1/sessions/{session_id}", "/v1/sign-in-codes"}
        own.add("/v1/auth/device/answer")
        for method, path in operations(world.service):
            url = re.sub(r"\{\w+\}", "x", path)
            if method in ("GET", "HEAD") or path in own | {"/v1/jobs:compare"}:
                continue
            response = reader.request(method, url, **body_of(method, path))
            assert response.status_code == 403, (method, path)


def test_what_others_own_is_not_changed_on_any_path(world: World) -> None:
    job = submitted(world.alice)
    config = {**SWEEP, "sweep": "of-alice", "spec": SPEC}
    sweep = checked(world.alice.post("/v1/sweeps", json=config))
    values = {"job_id": job["id"], "sweep_id": sweep["id"]}
    changed = {"/v1/jobs/{job_id}/continue"}  # makes a job of one's own
    for method, path in operations(world.service):
        names = re.findall(r"\{(\w+)\}", path)
        if method in ("GET", "HEAD") or not set(names) & values.keys() or path in changed:
            continue
        url = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], path)
        response = world.bob.request(method, url, **body_of(method, path))
        assert (response.status_code, response.json()["code"]) == (403, "not_permitted"), path
    assert world.alice.get(f"/v1/jobs/{job['id']}").json()["version"] == job["version"]


def test_comparisons_and_dependencies_name_no_hidden_job(world: World) -> None:
    own = submitted(world.alice)
    for hidden in (world.job["id"], MISSING["job_id"]):
        compared = world.alice.post("/v1/jobs:compare", json={"jobs": [own["id"], hidden]})
        curves = world.alice.get("/v1/metrics", params={"jobs": hidden})
        waiting = world.alice.post("/v1/jobs", json=SPEC, params={"after": hidden})
        diff = world.alice.get("/v1/profiles:diff", params={"a": own["id"], "b": hidden})
        found = [each.status_code for each in (compared, curves, waiting, diff)]
        assert found == [404, 404, 404, 404], hidden


def test_the_holder_of_an_agent_is_named_to_those_who_see_it(world: World) -> None:
    held = submitted(world.quinta, name=SECRET)
    attempt = world.service.attempt(held["id"])
    waiting = submitted(world.alice)
    shown = checked(world.alice.get(f"/v1/jobs/{waiting['id']}"))["waiting_on"]
    assert shown["holder"] is None
    agents = checked(world.alice.get("/v1/agents"))["agents"]
    assert [each["holds"]["job_id"] for each in agents if each["holds"]] == [None]
    assert held["id"] in world.quinta.get("/v1/agents").text
    attempt.complete()


def test_an_agent_reads_files_only_of_jobs_that_are_held(world: World) -> None:
    job = submitted(world.alice)
    path = f"/v1/jobs/{job['id']}/artifacts/art_{'0' * 24}/content"
    assert world.service.worker.get(path).status_code == 403
    attempt = world.service.attempt(job["id"])
    assert world.service.worker.get(path).status_code == 404
    attempt.complete()
    assert world.service.worker.get(path).status_code == 403


def test_a_key_belongs_to_a_person_and_outlives_a_token(world: World) -> None:
    headers = {"idempotency-key": "the-same"}
    alices = checked(world.alice.post("/v1/jobs", json=SPEC, headers=headers))
    bobs = checked(world.bob.post("/v1/jobs", json=SPEC, headers=headers))
    assert alices["id"] != bobs["id"]
    with ExitStack() as stack:
        again = issued(world.service, stack, user="alice")
        assert checked(again.post("/v1/jobs", json=SPEC, headers=headers))["id"] == alices["id"]


def test_projects_have_names_of_data_sets_of_their_own(world: World) -> None:
    with ExitStack() as stack:
        both = person(world.service, stack, "zoe", default="member", vision="member")
        for project in ("default", "vision"):
            in_project = {"ipulse-project": project}
            content = project.encode()
            digest = hashlib.sha256(content).hexdigest()
            upload = {"size": len(content), "sha256": digest, "purpose": "dataset"}
            begun = checked(both.post("/v1/uploads", json=upload, headers=in_project))
            send = {"upload-offset": "0", "content-type": "application/octet-stream"}
            path = f"/v1/uploads/{begun['id']}"
            assert both.patch(path, content=content, headers=send).status_code == 204
            added = {"upload_id": begun["id"]}
            path = "/v1/datasets/mine/versions"
            version = checked(both.post(path, json=added, headers=in_project))
            assert version["version"] == 1
        for client, project in ((world.alice, "default"), (world.quinta, "vision")):
            path = "/v1/datasets/mine/versions/1/content"
            assert client.get(path).content == project.encode()
        assert world.alice.delete("/v1/datasets/mine").status_code == 403  # it is zoe's
        assert world.alice.get("/v1/datasets").text.count('"mine"') == 2  # summary and version


def test_what_is_added_belongs_to_the_project_of_the_request(world: World) -> None:
    with ExitStack() as stack:
        both = person(world.service, stack, "yan", default="viewer", vision="member")
        assert submitted(both)["project"] == "vision"  # the only one to which yan may add
        refused = both.post("/v1/jobs", json=SPEC, headers={"ipulse-project": "default"})
        assert (refused.status_code, "member" in refused.json()["detail"]) == (403, True)
        for client in (world.alice, world.service.user):
            unknown = client.post("/v1/jobs", json=SPEC, headers={"ipulse-project": "nowhere"})
            assert (unknown.status_code, unknown.json()["code"]) == (422, "no_project")
        hidden = world.alice.post("/v1/jobs", json=SPEC, headers={"ipulse-project": "vision"})
        assert (hidden.status_code, hidden.json()["code"]) == (422, "no_project")
        checked(world.service.user.put("/v1/projects/default/members/yan", json={"role": "member"}))
        checked(world.service.user.post("/v1/projects", json={"name": "third"}))
        for project in ("default", "third"):
            path = f"/v1/projects/{project}/members/yan"
            checked(world.service.user.put(path, json={"role": "member"}))
        assert submitted(both, "third")["project"] == "third"


def test_a_public_project_is_read_by_everybody(world: World) -> None:
    checked(world.service.user.post("/v1/projects", json={"name": "open", "is_public": True}))
    job = submitted(world.service.user, "open")
    assert world.quinta.get(f"/v1/jobs/{job['id']}").status_code == 200
    assert world.quinta.delete(f"/v1/jobs/{job['id']}").status_code == 403


def test_a_token_carries_a_part_of_the_rights(world: World) -> None:
    with ExitStack() as stack:
        body = {"name": "part", "seconds": 60, "scopes": ["read"], "project": "default"}
        part = checked(world.alice.post("/v1/tokens", json=body))
        reader = with_token(world.service, stack, part["token"])
        assert reader.get("/v1/jobs").status_code == 200
        assert reader.post("/v1/jobs", json=SPEC).status_code == 403
        more = {**body, "scopes": ["read", "submit"]}
        assert reader.post("/v1/tokens", json=more).status_code == 403
        tokens = checked(world.alice.get("/v1/tokens"))["tokens"]
        (about,) = [each for each in tokens if each["id"] == part["about"]["id"]]
        assert (about["user"], about["scopes"]) == ("alice", ["read"])
        assert about["last_used_at"] is not None
        for user in ("bob", "owner"):
            other = world.alice.post("/v1/tokens", json={**body, "user": user})
            assert other.status_code == 404
        assert world.alice.post("/v1/users", json={"name": "eve"}).status_code == 403
        mine = world.alice.put("/v1/projects/default/members/alice", json={"role": "owner"})
        assert mine.status_code == 403


def test_rights_that_end_take_effect_at_once(world: World) -> None:
    with ExitStack() as stack:
        client = person(world.service, stack, "xena", vision="viewer")
        path = f"/v1/jobs/{world.job['id']}/events"
        headers = {"accept": "text/event-stream"}
        with client.stream("GET", path, headers=headers, timeout=30.0) as stream:
            lines = stream.iter_lines()
            while "queued" not in next(lines):
                pass
            checked(world.service.user.delete("/v1/projects/vision/members/xena"))
            assert "event: end" not in list(lines)
        assert client.get(path).status_code == 404
        disabled = {"is_disabled": True}
        checked(world.service.user.patch("/v1/users/xena", json=disabled))
        assert client.get("/v1/jobs").status_code == 401


def test_n5_the_last_owner_and_the_last_administrator_stay(world: World) -> None:
    admin = world.service.user
    refused = [
        admin.delete("/v1/projects/default/members/owner"),
        admin.put("/v1/projects/default/members/owner", json={"role": "member"}),
        admin.patch("/v1/users/owner", json={"is_disabled": True}),
        admin.patch("/v1/users/owner", json={"is_admin": False}),
    ]
    assert {(each.status_code, each.json()["code"]) for each in refused} == {(409, "last_owner")}


@pytest.mark.parametrize("name", ["", "Alice", "a b", "default ", "..", "é", "a" * 64, "a/b"])
def test_names_that_may_be_mistaken_are_refused(world: World, name: str) -> None:
    for path in ("/v1/users", "/v1/projects"):
        response = world.service.user.post(path, json={"name": name})
        assert (response.status_code, response.json()["errors"][0]["pointer"]) == (422, "/name")


def test_jobs_of_a_sweep_are_those_of_its_owner(world: World) -> None:
    def jobs() -> list[dict[str, Any]]:
        query = {"q": f"sweep:{world.sweep['id']}"}
        found: list[dict[str, Any]] = checked(world.quinta.get("/v1/jobs", params=query))["jobs"]
        return found

    eventually(jobs)
    assert {(job["project"], job["owner"]) for job in jobs()} == {("vision", "quinta")}


def test_jobs_are_found_by_their_owner(world: World) -> None:
    submitted(world.bob, name="of-bob")
    found = checked(world.alice.get("/v1/jobs", params={"q": "owner:bob"}))["jobs"]
    assert {job["owner"] for job in found} == {"bob"}


def test_nobody_gets_the_rights_of_an_owner_by_an_account_of_one(world: World) -> None:
    body = {"name": "strong", "role": "user", "seconds": 60}
    made = checked(world.max.post("/v1/tokens", json=body))["about"]
    member = f"/v1/projects/default/members/{made['user']}"
    assert world.max.put(member, json={"role": "owner"}).status_code == 403
    checked(world.service.user.put(member, json={"role": "owner"}))
    other = {"name": "mine", "user": made["user"], "seconds": 60}
    assert world.max.post("/v1/tokens", json=other).status_code == 404
    assert world.max.put(member, json={"role": "member"}).status_code == 403
    assert made["id"] not in world.max.get("/v1/tokens").text
    checked(world.service.user.delete(member))


def test_a_service_account_is_managed_by_maintainers(world: World) -> None:
    body = {"name": "Nightly Runs", "role": "user", "seconds": 60}
    assert world.alice.post("/v1/tokens", json=body).status_code == 403
    made = checked(world.max.post("/v1/tokens", json=body))
    assert made["about"]["user"] == "nightly-runs"
    with ExitStack() as stack:
        client: httpx.Client = with_token(world.service, stack, made["token"])
        assert submitted(client)["owner"] == "nightly-runs"
        assert world.bob.delete(f"/v1/tokens/{made['about']['id']}").status_code == 404
        assert world.max.delete(f"/v1/tokens/{made['about']['id']}").status_code == 204
        assert client.get("/v1/jobs").status_code == 401


def test_what_is_said_to_be_allowed_is_what_is_done(world: World) -> None:
    """For each role and scope: `allowed` of a job against what its routes answer."""
    with ExitStack() as stack:
        checked(world.service.user.post("/v1/projects", json={"name": "said"}))
        roles = ("viewer", "member", "developer", "maintainer", "owner")
        callers = {role: person(world.service, stack, f"s-{role}", said=role) for role in roles}
        callers["reads"] = issued(world.service, stack, user="s-owner", scopes=["read"])
        callers["submits"] = issued(world.service, stack, user="s-owner", scopes=["read", "submit"])
        owner = callers["member"]
        for name, client in callers.items():
            job = submitted(owner, "said")
            path = f"/v1/jobs/{job['id']}"
            said = checked(client.get(path))["allowed"]
            (listed,) = checked(client.get("/v1/jobs", params={"id_prefix": job["id"]}))["jobs"]
            assert listed["allowed"] == said
            changed = client.patch(path, json={"priority": 1})
            assert ("change" in said) is changed.is_success, name
            checked(owner.post(f"{path}/cancel"))
            retried = client.post(f"{path}/retry")
            assert ("retry" in said) is (retried.status_code != 403), name
            more = {"ipulse-project": "said"}
            going = client.post(f"{path}/continue", json={"epochs": 1}, headers=more)
            assert ("continue" in said) is (going.status_code != 403), name
            assert ("change" in said) is client.delete(path).is_success, name
            projects = checked(client.get("/v1/session"))["projects"]
            plain = client.post("/v1/jobs", json=SPEC, headers=more)
            assert ("submit" in projects["said"]) is plain.is_success, name
            member = "/v1/projects/said/members/bob"
            given = client.put(member, json={"role": "viewer"})
            assert ("manage_members" in projects["said"]) is given.is_success, name


def test_an_etag_is_another_one_when_the_rights_of_its_caller_change(world: World) -> None:
    with ExitStack() as stack:
        admin = world.service.user
        checked(admin.post("/v1/projects", json={"name": "turns"}))
        client = person(world.service, stack, "tess", turns="member")
        path = f"/v1/jobs/{submitted(client, 'turns')['id']}"
        tag = client.get(path).headers["etag"]
        for headers in ({}, {"prefer": "wait=1"}):
            known = {"if-none-match": tag, **headers}
            assert client.get(path, headers=known).status_code == 304
            checked(admin.put("/v1/projects/turns/members/tess", json={"role": "viewer"}))
            shown = client.get(path, headers=known)
            assert (shown.status_code, shown.json()["allowed"]) == (200, [])
            checked(admin.put("/v1/projects/turns/members/tess", json={"role": "member"}))
        assert client.post(f"{path}/cancel", headers={"if-match": tag}).status_code == 200
