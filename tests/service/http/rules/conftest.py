"""A service with one of each resource."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from ipulse_service.news import webhooks
from tests.service.conditions import eventually
from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import announce, push
from tests.service.http.rules.resources import CONTENT, Resources
from tests.service.profiles import profile
from tests.service.running import SPEC, InProcess

FILES = ("/", "/docs", "/redoc", "/web/icon.svg", "/openapi.json")


@pytest.fixture(scope="module")
def resources(service: InProcess) -> Resources:
    service.wait_until_ready()
    finished = service.attempt(service.submit()["id"])
    artifact = finished.put("a.bin", "weights", CONTENT).json()["artifact_id"]
    finished.put("profile.json", "profile", json.dumps(profile()).encode())
    finished.put("report.html", "report", b"<html></html>")
    finished.complete()
    attempt = service.attempt(service.submit()["id"])
    agent = {"agent": "b.bin", "device_kinds": ["cpu"]}
    assert service.worker.post("/v1/worker/agents", json=agent).status_code == 204
    about = {"name": "x", "role": "reader", "seconds": 60}
    token = service.user.post("/v1/tokens", json=about).json()["about"]["id"]
    device = service.user.post("/v1/auth/device", json={"client_id": "x"}).json()
    with service.database.write() as transaction:
        webhook = webhooks.create(
            transaction, "x", "https://example.org/", "standard", ("job.failed",)
        )
    names = {
        "project": "default",
        "pool": "default",
        "user": "owner",
        "webhook_id": webhook.id,
        "job_id": finished.claim["job_id"],
        "attempt_id": attempt.claim["attempt_id"],
        "artifact_id": artifact,
        "name": "b.bin",
        "token_id": token,
        "sweep_id": ended_sweep(service),
        "number": push(service, spikes(), "b.bin")["version"],
        "sample": 0,
        "upload_id": announce(service, CONTENT).json()["id"],
        "digest": "0" * 64,
        "user_code": device["user_code"],
    }
    methods = {
        path.format_map(defaultdict(lambda: "x", names)): {method.upper() for method in item}
        for path, item in service.user.get("/openapi.json").json()["paths"].items()
    }
    return Resources(
        attempt, finished.claim["job_id"], {**methods, **{path: {"GET"} for path in FILES}}
    )


def ended_sweep(service: InProcess) -> str:
    """A sweep that changes no more."""
    parameters = {"/training/optimizer/learning_rate": {"values": [0.1]}}
    body = {"sweep": "rules", "spec": SPEC, "parameters": parameters}
    path = f"/v1/sweeps/{service.user.post('/v1/sweeps', json=body).json()['id']}"
    eventually(lambda: service.user.get(path).json()["begun"] == 1)
    service.user.post(f"{path}/stop", params={"running": "cancel"})
    eventually(lambda: service.user.get(path).json()["state"] == "ended")
    return path.rpartition("/")[2]
