"""An agent that has joined, as the service sees it."""

from __future__ import annotations

from typing import Any

import httpx
from sqlalchemy import update

from ipulse_service.agents.known_agent import PRESENT_MS
from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.joined import client, joined
from tests.service.running import SPEC, InProcess


class JoinedAgent:
    """An agent that has joined and registered."""

    def __init__(self, service: InProcess, *kinds: str, **wanted: Any) -> None:
        self.service = service
        self.name, token = joined(service, **wanted)
        self.http = client(service, token)
        self.kinds = list(kinds)
        self.register()

    def register(self) -> httpx.Response:
        body = {"agent": self.name, "device_kinds": self.kinds}
        return self.http.post("/v1/worker/agents", json=body)

    def sign_off(self) -> httpx.Response:
        return self.http.post("/v1/worker/sign-off", json={"agent": self.name})

    def claim(self, job_id: str | None) -> httpx.Response:
        """Claim a job; None: the first of the queue."""
        body = {"job_id": job_id, "agent": self.name, "device_kinds": self.kinds}
        return self.http.post("/v1/worker/claims", json=body)

    def hold(self) -> Attempt:
        """An attempt at a job that comes first in the queue."""
        spec = {**SPEC, "device": {"kind": self.kinds[0]}}
        response = self.claim(self.service.submit(spec)["id"])
        assert response.status_code == 200, response.text
        return Attempt(self.http, response.json())

    @property
    def shown(self) -> dict[str, Any]:
        response = self.service.user.get(f"/v1/agents/{self.name}")
        assert response.status_code == 200
        found: dict[str, Any] = response.json()
        assert found in self.service.user.get("/v1/agents").json()["agents"]
        return found

    @property
    def devices(self) -> dict[str, dict[str, Any]]:
        listed = self.service.user.get("/v1/devices").json()["devices"]
        return {device["kind"]: device for device in listed if device["agent"] == self.name}

    def order(self, order: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return self.service.user.post(f"/v1/agents/{self.name}:{order}", json=body)

    def be_silent(self) -> None:
        with self.service.database.write() as transaction:
            this = update(tables.agents).where(tables.agents.c.name == self.name)
            silent = this.values(seen_at=transaction.now - PRESENT_MS)
            transaction.connection.execute(silent)
