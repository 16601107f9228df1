"""Bad input over HTTP is a 4xx problem with its place, and nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.client import Client
from ipulse.stack.stack import Stack

from .jobs import small_spec

pytestmark = pytest.mark.slow


def spec_with(**changes: Any) -> bytes:
    return json.dumps(small_spec(**changes)).encode()


def layer(**fields: Any) -> bytes:
    return spec_with(network={"layers": [{"neurons": 8, **fields}]})


BODIES = {
    "nothing": (b"", 400, ""),
    "no JSON": (b"version: 1", 400, ""),
    "NaN": (b'{"version": 1, "seed": NaN}', 400, ""),
    "infinity": (spec_with(seed=0).replace(b'"seed": 0', b'"seed": -Infinity'), 400, ""),
    "a key twice": (b'{"version": 1, "version": 1}', 400, ""),
    "100,000 levels": (b"[" * 100_000, 400, ""),
    "70 levels in a field": (spec_with(metadata=json.loads("[" * 70 + "]" * 70)), 400, ""),
    "not UTF-8": (b'{"name": "\xff\xfe"}', 400, ""),
    "UTF-16": (spec_with().decode().encode("utf-16"), 400, ""),
    "a lone surrogate": (b'{"version": 1, "name": "\\ud800"}', 400, ""),
    "5,000 digits": (b'{"seed": ' + b"9" * 5000 + b"}", 400, ""),
    "10 MB": (spec_with(metadata={"a": "x" * 10_000_000}), 413, ""),
    "a list": (b"[]", 422, ""),
    "null": (b"null", 422, ""),
    "an unknown field": (spec_with(colour="red"), 422, "/colour"),
    "a field of Python": (spec_with(__class__="x"), 422, "/__class__"),
    "no version": (b'{"network": {"layers": [{"neurons": 1}]}}', 422, "/version"),
    "text for a number": (spec_with(seed="1"), 422, "/seed"),
    "a boolean for a number": (spec_with(seed=True), 422, "/seed"),
    "1e309": (spec_with(seed=0).replace(b'"seed": 0', b'"seed": 1e309'), 422, "/seed"),
    "2^63": (spec_with(seed=2**63), 422, "/seed"),
    "no neurons": (layer(neurons=0), 422, "/network/layers/0/neurons"),
    "10^9 neurons": (layer(neurons=10**9), 422, "/network/layers/0/neurons"),
    "a threshold above the first": (
        layer(second_threshold=2.0),
        422,
        "/network/layers/0/second_threshold",
    ),
    "0 steps": (spec_with(data={"steps": 0}), 422, "/data/steps"),
    "10^9 steps": (spec_with(data={"steps": 10**9}), 422, "/data/steps"),
    "a data set by path": (spec_with(data={"kind": "../../etc/passwd"}), 422, "/data/kind"),
    "a batch of 0": (spec_with(training={"batch_size": 0}), 422, "/training/batch_size"),
    "10^9 epochs": (spec_with(training={"epochs": 10**9}), 422, "/training/epochs"),
    "a NUL": (spec_with(name="a\0b"), 422, "/name"),
    "an escape sequence": (spec_with(name="\x1b[2J"), 422, "/name"),
    "a name of 10^5": (spec_with(name="n" * 10**5), 422, "/name"),
    "17 pairs": (spec_with(metadata={f"k{n}": "v" for n in range(17)}), 422, "/metadata"),
}


@pytest.fixture
def http(stack: Stack) -> Iterator[httpx.Client]:
    headers = {
        "Authorization": f"Bearer {Path(stack.token_path).read_text().strip()}",
        "Content-Type": "application/json",
    }
    with httpx.Client(base_url=stack.url, headers=headers) as made:
        yield made


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:validate"])
@pytest.mark.parametrize(("body", "status", "pointer"), BODIES.values(), ids=BODIES.keys())
def test_a_bad_body_is_refused_with_its_place(
    http: httpx.Client, client: Client, path: str, body: bytes, status: int, pointer: str
) -> None:
    before = [job.id for job in client.list()]
    answer = http.post(path, content=body)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"]) == (status, status)
    if status == 422:
        assert pointer in [error["pointer"] for error in problem["errors"]]
    assert all(error["detail"] and error["code"] for error in problem["errors"])
    assert len(answer.content) < 50_000
    assert "Traceback" not in answer.text
    assert [job.id for job in client.list()] == before
