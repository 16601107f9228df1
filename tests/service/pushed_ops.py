"""Packages of custom ops, pushed to a service."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from ipulse_core.source_package import PackedFile, write_package
from tests.service.running import InProcess

MANIFEST: dict[str, Any] = {
    "name": "pool_op",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["steps", "batch", "senders"]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["steps", "batch", "senders // width"]}],
    "gradients": ["x"],
    "attributes": {"width": {"type": "integer", "default": 2, "minimum": 1, "maximum": 8}},
    "sizes": {"steps": 3, "batch": 2, "senders": 8},
}

GAIN = {"name": "gain", "shape": ["senders"], "initialiser": "ones"}


def package(manifest: dict[str, Any] | None = None, note: str = "", **changes: Any) -> bytes:
    document = {**(MANIFEST if manifest is None else manifest), **changes}
    content = io.BytesIO()
    files = [
        PackedFile("op.json", json.dumps(document).encode()),
        PackedFile("reference.py", f"# {note}\n".encode()),
    ]
    write_package(files, content)
    return content.getvalue()


def announced(client: httpx.Client, content: bytes) -> httpx.Response:
    digest = hashlib.sha256(content).hexdigest()
    return client.post(
        "/v1/uploads", json={"size": len(content), "sha256": digest, "purpose": "op"}
    )


def pushed(client: httpx.Client, content: bytes) -> httpx.Response:
    begun = announced(client, content)
    assert begun.status_code in (200, 201), begun.text
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    return client.patch(begun.headers["location"], content=content, headers=headers)


def spec(content: bytes, neurons: int = 16, **changes: Any) -> dict[str, Any]:
    reference = f"pool_op@sha256:{hashlib.sha256(content).hexdigest()}"
    layer = {"kind": "op", "op": reference, "neurons": neurons, **changes}
    return {"version": 1, "network": {"layers": [{"neurons": 32}, layer]}}


def pointers(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [each["pointer"] for each in answer.json()["errors"]]


@contextmanager
def coding(service: InProcess, **whose: str) -> Iterator[httpx.Client]:
    whose = whose or {"role": "user"}
    body = {"name": "coder", "seconds": 600, "submit_code": True, **whose}
    token = service.user.post("/v1/tokens", json=body).json()["token"]
    with service.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        yield client


def sweep_of(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    parameters = {"/seed": {"values": [1, 2]}}
    return {"version": 1, "sweep": "ops", "spec": document, "parameters": parameters, **changes}
