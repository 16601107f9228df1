"""People and service accounts of a service, with clients that have tokens of theirs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import httpx

from tests.service.running import SPEC, InProcess

DAY = 86_400


def checked(response: httpx.Response) -> dict[str, Any]:
    assert response.is_success, response.text
    value: dict[str, Any] = response.json() if response.content else {}
    return value


def with_token(service: InProcess, stack: ExitStack, token: str) -> httpx.Client:
    client = stack.enter_context(service.client())
    client.headers["authorization"] = f"Bearer {token}"
    return client


def issued(service: InProcess, stack: ExitStack, **request: Any) -> httpx.Client:
    """A client with a new token."""
    body = {"name": "a test", "seconds": DAY, **request}
    made = checked(service.user.post("/v1/tokens", json=body))
    return with_token(service, stack, made["token"])


def person(service: InProcess, stack: ExitStack, name: str, **roles: str) -> httpx.Client:
    """A client of a new person with roles in projects."""
    checked(service.user.post("/v1/users", json={"name": name}))
    for project, role in roles.items():
        path = f"/v1/projects/{project}/members/{name}"
        checked(service.user.put(path, json={"role": role}))
    return issued(service, stack, user=name)


def submitted(client: httpx.Client, project: str | None = None, **spec: Any) -> dict[str, Any]:
    headers = {"ipulse-project": project} if project else {}
    return checked(client.post("/v1/jobs", json={**SPEC, **spec}, headers=headers))
