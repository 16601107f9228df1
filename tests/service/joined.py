"""Agents of other machines, as the service sees them."""

from __future__ import annotations

import secrets
from typing import Any

import httpx

from ipulse.stack import tls
from ipulse_core import messages

from .running import Service


class Machine:
    """A machine that joins with agents; `instance` is its secret."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.instance = secrets.token_urlsafe(32)

    def join(self, token: str, name: str, **more: Any) -> httpx.Response:
        body = {"name": name, "instance": self.instance, **more}
        with client(self._service, token) as http:
            return http.post("/v1/worker/join", json=body)


def client(service: Service, token: str) -> httpx.Client:
    headers = {
        "authorization": f"Bearer {token}",
        messages.PROTOCOL_HEADER: str(messages.PROTOCOL),
        "user-agent": f"{messages.AGENT_PREFIX}0.0.1",
    }
    trusted = tls.machines_trust()
    return httpx.Client(base_url=service.url, headers=headers, timeout=90.0, verify=trusted)


def join_token(service: Service, **wanted: Any) -> dict[str, Any]:
    response = service.user.post("/v1/join-tokens", json=wanted)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def joined(service: Service, name: str = "", **wanted: Any) -> tuple[str, str]:
    """The name and the token of an agent that has joined."""
    name = name or f"agent-{secrets.token_hex(4)}"
    response = Machine(service).join(join_token(service, **wanted)["token"], name)
    assert response.status_code == 201, response.text
    return name, response.json()["token"]
