"""Requests about people, projects and quotas that make no sense: each is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.service.http.test_rights import operations
from tests.service.people import person, submitted
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

HUGE = 2**63
ODD = [
    "\x00",
    "a\x00b",
    "\u202egnp",
    "..",
    "../..",
    " ",
    "NaN",
    str(HUGE),
    "x" * 300,
    "e\u0301",
    "%",
    "'",
]
NAMES = [
    "",
    "\x00",
    "a\x00",
    "\u202ea",
    "e\u0301",
    "\u00e9",
    "..",
    "default ",
    "Default",
    "a" * 256,
]


@pytest.fixture(scope="module")
def alice(service: InProcess) -> Iterator[httpx.Client]:
    with ExitStack() as stack:
        yield person(service, stack, "alice", default="member")


def refused(response: httpx.Response, pointer: str) -> None:
    body = response.json()
    assert response.status_code in (400, 422), (response.status_code, body)
    assert [each["pointer"] for each in body["errors"]] == [pointer]
    assert all(each["detail"] for each in body["errors"])


@pytest.mark.parametrize("name", NAMES)
def test_names(service: InProcess, name: str) -> None:
    for path in ("/v1/users", "/v1/projects", "/v1/pools"):
        refused(service.user.post(path, json={"name": name}), "/name")


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/users", {"name": "eve", "full_name": "\x00"}, "/full_name"),
        ("/v1/users", {"name": "eve", "full_name": "x" * 129}, "/full_name"),
        ("/v1/users", {"name": "eve", "is_admin": "yes"}, "/is_admin"),
        ("/v1/projects", {"name": "p", "description": "a\x00b"}, "/description"),
        ("/v1/projects", {"name": "p", "description": "x" * 1001}, "/description"),
        ("/v1/tokens", {"name": "a\x00", "seconds": 60}, "/name"),
        ("/v1/tokens", {"name": "t", "seconds": HUGE}, "/seconds"),
        ("/v1/tokens", {"name": "t", "seconds": 60, "scopes": ["root"]}, "/scopes/0"),
        ("/v1/tokens", {"name": "t", "seconds": 60, "role": "root"}, "/role"),
        ("/v1/pools", {"name": "lab", "description": "a\x00b"}, "/description"),
        ("/v1/webhooks", {"url": "https://a.org/", "name": "a\x00"}, "/name"),
    ],
)
def test_fields(service: InProcess, path: str, body: dict[str, Any], pointer: str) -> None:
    refused(service.user.post(path, json=body), pointer)


@pytest.mark.parametrize("value", ["-1", "1e308", "1.5", str(HUGE), '"1"', "true", "[]"])
@pytest.mark.parametrize("name", ["share", "devices", "bytes"])
def test_quotas(service: InProcess, name: str, value: str) -> None:
    for path in ("/v1/projects/default/quotas", "/v1/users/owner/quotas"):
        content = f'{{"limits": {{"{name}": {value}}}}}'
        json_type = {"content-type": "application/json"}
        response = service.user.patch(path, content=content, headers=json_type)
        refused(response, f"/limits/{name}")


def test_no_quota_is_not_a_number(service: InProcess) -> None:
    content, json_type = '{"limits": {"share": NaN}}', {"content-type": "application/json"}
    path = "/v1/projects/default/quotas"
    assert service.user.patch(path, content=content, headers=json_type).status_code == 400


def test_roles(service: InProcess, alice: httpx.Client) -> None:
    member = "/v1/projects/default/members/alice"
    for role in ("root", "Owner", "", None, 1):
        refused(service.user.put(member, json={"role": role}), "/role")
    assert alice.put(member, json={"role": "owner"}).status_code == 403


@pytest.mark.parametrize("priority", [101, -101, True, "5", 1.5, HUGE])
def test_priorities(service: InProcess, alice: httpx.Client, priority: Any) -> None:
    job = submitted(alice)
    refused(alice.patch(f"/v1/jobs/{job['id']}", json={"priority": priority}), "/priority")
    written = {True: "true"}.get(priority, str(priority)) if priority != "5" else '"5"'
    for path in ("/v1/jobs", "/v1/jobs:plan"):
        response = alice.post(path, json=SPEC, params={"priority": written})
        refused(response, "/query/priority")


@pytest.mark.parametrize("project", [*ODD, "DEFAULT", "default/", "nowhere"])
def test_projects_of_requests(alice: httpx.Client, service: InProcess, project: str) -> None:
    for client in (alice, service.user):
        if "\x00" in project or not project.strip():
            continue  # no client can send it
        header = {b"ipulse-project": project.encode("utf-8")}
        response = client.post("/v1/jobs", json=SPEC, headers=header)
        refused(response, "/header/ipulse-project")


def test_tokens_that_are_none(service: InProcess) -> None:
    good = service.settings.token_file.read_text().strip()
    with service.client() as nobody:
        for text in (
            "ipulse_",
            "ipulse_" + "0" * 10_000,
            f"{good} {good}",
            "ipulse_\xe9_x",
        ):
            header = {b"authorization": f"Bearer {text}".encode("latin-1")}
            response = nobody.get("/v1/jobs", headers=header)
            assert response.status_code in (401, 431), text[:40]
            assert good not in response.text


@pytest.mark.parametrize("odd", ["\x00", "e\u0301\u202e", str(HUGE)])
def test_no_address_breaks_anything(service: InProcess, odd: str) -> None:
    """Each path with its parameters, then each text of its query."""
    document = service.app.openapi()["paths"]
    for method, template in operations(service):
        if not template.startswith("/v1/") or template.startswith("/v1/session"):
            continue
        path = re.sub(r"\{\w+\}", quote(odd, safe=""), template)
        described = document.get(template, {}).get(method.lower(), {}).get("parameters", ())
        names = [each["name"] for each in described if each["in"] == "query"]
        body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
        for params in ({}, *({name: odd} for name in names)):
            response = service.user.request(method, path, params=params, **body)
            assert response.status_code < 500, (method, path, params, response.text)
            if odd == "\x00" and path != template:
                assert response.status_code == 404, (method, path, params)
            elif odd == "\x00" and params:
                assert response.status_code == 400, (method, path, params)
