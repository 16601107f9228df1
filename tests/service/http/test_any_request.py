"""Any request gets a status below 500, and errors are problem documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.agents import Attempt
from tests.service.running import SPEC, InProcess

ODD_TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "..", "\x00", "9" * 400, "-1", "1e9", "NaN", "null", "%2e%2e", "\u202e"]),
)
# Header values travel as Latin-1 without control characters; the client sends no others.
HEADER_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc"]))
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_TEXT, inner, max_size=4),
    max_leaves=12,
)
HEADERS = ["if-none-match", "if-range", "range", "last-event-id", "prefer", "idempotency-key"]
HEADERS += ["accept", "x-request-id", "content-encoding"]
QUERY = ["after", "kind", "limit", "media_type", "page_size", "page_token", "role", "sha256"]
QUERY += ["size", "state", "odd"]


@dataclass(frozen=True)
class Known:
    """Existing objects, so that some requests pass the first checks."""

    attempt: Attempt
    artifact_id: str


@pytest.fixture(scope="module")
def known(service: InProcess) -> Known:
    service.wait_until_ready()
    attempt = service.attempt(service.submit()["id"])
    artifact_id = attempt.put("a.bin", "weights", b"0123456789").json()["artifact_id"]
    return Known(attempt, artifact_id)


@settings(
    max_examples=150,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_is_answered_and_never_breaks_anything(
    service: InProcess, known: Known, data: st.DataObject
) -> None:
    paths = sorted(service.app.openapi()["paths"])
    template = data.draw(st.sampled_from(paths), "path")
    sound = {
        "job_id": known.attempt.claim["job_id"],
        "attempt_id": known.attempt.claim["attempt_id"],
        "artifact_id": known.artifact_id,
        "name": "b.bin",
    }
    path = template
    for name, value in sound.items():
        odd = data.draw(ODD_TEXT | st.just(value) | st.just(value), name)
        path = path.replace(f"{{{name}}}", quote(odd, safe=""))
    method = data.draw(st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE"]), "method")
    if "finish" in template and method == "POST":
        method = "GET"  # the attempt is needed for other requests
    query = data.draw(st.dictionaries(st.sampled_from(QUERY), ODD_TEXT, max_size=3), "query")
    given_headers = st.dictionaries(st.sampled_from(HEADERS), HEADER_TEXT, max_size=2)
    headers = {
        name.encode(): value.encode("latin-1")
        for name, value in data.draw(given_headers, "headers").items()
    }
    headers[b"ipulse-fence"] = known.attempt.fence.encode()
    headers[b"content-type"] = b"application/json"
    body = data.draw(st.binary(max_size=40) | JSON_VALUES.map(as_json) | mutations(), "body")

    client = service.worker if "/worker/" in template else service.user
    with client.stream(
        method, path, params=query, headers=headers, content=body if method != "GET" else None
    ) as response:
        assert response.status_code < 500
        if response.status_code >= 400 and method != "HEAD":
            problem = json.loads(response.read())
            assert response.headers["content-type"] == "application/problem+json"
            assert problem["status"] == response.status_code
        if response.status_code == 202:
            assert json.loads(body)["version"] == 1, "stored what is no spec"


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def mutations() -> st.SearchStrategy[bytes]:
    """A valid spec with one of its fields replaced, or with another field."""
    keys = st.sampled_from([*SPEC, "seed", "data", "training", "device", "metadata", "odd"])
    return st.builds(lambda key, value: as_json({**SPEC, key: value}), keys, JSON_VALUES)
