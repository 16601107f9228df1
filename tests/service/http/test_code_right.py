"""Submitting code needs a role in the project and the scope of the token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.service import pushed_ops
from tests.service.people import checked, issued, person, with_token
from tests.service.running import InProcess


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def people(service: InProcess) -> None:
    checked(service.user.post("/v1/projects", json={"name": "vision"}))
    with ExitStack() as stack:
        person(service, stack, "dora", vision="developer", default="member")
        person(service, stack, "mia", vision="member")
        person(service, stack, "max", vision="maintainer")


def pushing(client: httpx.Client, project: str = "vision") -> int:
    client.headers["ipulse-project"] = project
    return pushed_ops.announced(client, pushed_ops.package(note=project)).status_code


@pytest.mark.usefixtures("people")
class TestCode:
    def test_a_developer_with_the_scope_submits_to_that_project(
        self, service: InProcess, stack: ExitStack
    ) -> None:
        dora = issued(service, stack, user="dora", submit_code=True)
        assert pushing(dora) in (200, 201)
        assert pushing(dora, "default") == 403
        assert dora.get("/v1/me").json()["submit_code"] is True

    def test_no_token_has_the_scope_by_default(self, service: InProcess, stack: ExitStack) -> None:
        for name in ("dora", "max"):
            client = issued(service, stack, user=name)
            assert "code" not in client.get("/v1/me").json()["scopes"]
            assert pushing(client) == 403

    def test_a_maintainer_with_the_scope_submits_code(
        self, service: InProcess, stack: ExitStack
    ) -> None:
        assert pushing(issued(service, stack, user="max", scopes=["read", "submit", "code"])) in (
            200,
            201,
        )

    def test_a_member_gets_no_such_token(self, service: InProcess) -> None:
        body = {"name": "x", "seconds": 60, "user": "mia", "submit_code": True}
        refused = service.user.post("/v1/tokens", json=body)
        assert refused.status_code == 422
        assert "--role developer" in refused.json()["errors"][0]["detail"]

    def test_the_role_counts_at_the_next_request(
        self, service: InProcess, stack: ExitStack
    ) -> None:
        dora = issued(service, stack, user="dora", submit_code=True)
        for role, statuses in (("member", [403]), ("developer", [200, 201])):
            path = "/v1/projects/vision/members/dora"
            checked(service.user.put(path, json={"role": role}))
            assert pushing(dora) in statuses

    def test_nobody_passes_on_a_scope_that_they_lack(
        self, service: InProcess, stack: ExitStack
    ) -> None:
        body = {"name": "x", "seconds": 60, "submit_code": True}
        without = issued(service, stack, user="dora")
        assert without.post("/v1/tokens", json=body).status_code == 403
        dora = issued(service, stack, user="dora", submit_code=True)
        made = checked(dora.post("/v1/tokens", json=body))
        assert pushing(with_token(service, stack, made["token"])) in (200, 201)
