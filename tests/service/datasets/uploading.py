"""Uploads as a client makes them, one request at a time."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import httpx

from tests.service.http.routes.test_submission import check_problem
from tests.service.running import Service

WAIT = {"prefer": "wait=30"}


def announce(service: Service, content: bytes, **more: Any) -> httpx.Response:
    sha256 = hashlib.sha256(content).hexdigest()
    return service.user.post("/v1/uploads", json={"size": len(content), "sha256": sha256, **more})


def send(service: Service, upload_id: str, content: bytes, offset: int = 0) -> httpx.Response:
    headers = {"upload-offset": str(offset), "content-type": "application/octet-stream"}
    return service.user.patch(f"/v1/uploads/{upload_id}", content=content, headers=headers)


def upload(service: Service, content: bytes) -> str:
    """Uploads a file and returns the upload's id."""
    begun = announce(service, content)
    assert begun.status_code in (200, 201), begun.text
    info = begun.json()
    if not info["complete"]:
        sent = send(service, info["id"], content[info["offset"] :], info["offset"])
        assert sent.status_code == 204, sent.text
    return str(info["id"])


def push(service: Service, content: bytes, name: str | None = None) -> dict[str, Any]:
    """Uploads a file as a version, and returns the version once it is checked."""
    name = name or f"set-{secrets.token_hex(4)}"
    body = {"upload_id": upload(service, content)}
    added = service.user.post(f"/v1/datasets/{name}/versions", json=body, headers=WAIT)
    assert added.status_code in (200, 202), added.text
    version: dict[str, Any] = added.json()
    while version["state"] == "checking":
        place = f"/v1/datasets/{name}/versions/{version['version']}"
        version = service.user.get(place, headers=WAIT).json()
    return version


def check_refused(response: httpx.Response, status: int, code: str, pointer: str = "") -> None:
    """Asserts that an answer is a problem document with this code, at this place."""
    problem = check_problem(response, status)
    assert problem["code"] == code
    if pointer:
        assert pointer in [each["pointer"] for each in problem["errors"]]
