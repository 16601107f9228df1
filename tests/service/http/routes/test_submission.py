"""Submitting: what is accepted, once, and what is not."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from ipulse.spec import parse_spec, spec_to_json
from ipulse_core import strict_json
from tests.service.running import SPEC, InProcess

JSON = {"content-type": "application/json"}


def changed(**fields: Any) -> dict[str, Any]:
    return {**SPEC, **fields}


def layers(**fields: Any) -> dict[str, Any]:
    return changed(network={"layers": [{"neurons": 4, **fields}]})


LAYER = "/network/layers/0/"
DEEP_FIELD = json.dumps(changed(metadata=json.loads("[" * 70 + "]" * 70))).encode()
# A body, the status of its response, and the pointer of the problem.
BAD_SPECS: list[tuple[str, dict[str, Any], int, str]] = [
    ("unknown field", changed(colour="red"), 422, "/colour"),
    ("odd unknown field", {**SPEC, "a/b~c": 1}, 422, "/a~1b~0c"),
    ("unknown nested field", layers(weight=1), 422, "/network/layers/0/weight"),
    ("missing", {"version": 1}, 422, "/network"),
    ("wrong version", changed(version=3), 422, "/version"),
    ("true is not 1", changed(version=True), 422, "/version"),
    ("text for a number", layers(neurons="4"), 422, "/network/layers/0/neurons"),
    ("fraction", layers(neurons=4.5), 422, "/network/layers/0/neurons"),
    ("nothing", layers(neurons=0), 422, "/network/layers/0/neurons"),
    ("a thousand million", layers(neurons=10**9), 422, "/network/layers/0/neurons"),
    ("beyond 64 bits", layers(neurons=2**64), 422, "/network/layers/0/neurons"),
    ("no layers", changed(network={"layers": []}), 422, "/network/layers"),
    ("list for an object", changed(network=[]), 422, "/network"),
    ("zero epochs", changed(training={"epochs": 0}), 422, "/training/epochs"),
    ("huge batch", changed(training={"batch_size": 10**9}), 422, "/training/batch_size"),
    ("negative seed", changed(seed=-1), 422, "/seed"),
    ("control character", changed(name="a\x00b"), 422, "/name"),
    ("escape sequence", changed(name="\x1b[2J"), 422, "/name"),
    ("field of Python", changed(__class__="x"), 422, "/__class__"),
    ("data set by path", changed(data={"kind": "../../etc/passwd"}), 422, "/data/kind"),
    ("second threshold above", layers(second_threshold=2.0), 422, LAYER + "second_threshold"),
    ("long name", changed(name="x" * 129), 422, "/name"),
    ("too many pairs", changed(metadata={str(n): "" for n in range(17)}), 422, "/metadata"),
    ("device nobody has", changed(device={"kind": "abacus"}), 422, "/device/kind"),
]

# The body as bytes, its headers, then the status and the code of the problem.
BAD_BODIES: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("empty", b"", JSON, 400, "invalid_json"),
    ("not JSON", b"version: 1", JSON, 400, "invalid_json"),
    ("cut off", json.dumps(SPEC).encode()[:-1], JSON, 400, "invalid_json"),
    ("NaN", b'{"version": NaN}', JSON, 400, "invalid_json"),
    ("infinity", b'{"version": -Infinity}', JSON, 400, "invalid_json"),
    ("overflowing", b'{"version": 1, "network": 1e999}', JSON, 422, "invalid_spec"),
    ("huge integer", b"9" * 10_000, JSON, 400, "invalid_json"),
    ("duplicate key", b'{"version": 1, "version": 1}', JSON, 400, "invalid_json"),
    ("not UTF-8", b'{"name": "\xff"}', JSON, 400, "invalid_json"),
    ("UTF-16", json.dumps(SPEC).encode("utf-16"), JSON, 400, "invalid_json"),
    ("lone surrogate", b'{"name": "\\ud800"}', JSON, 400, "invalid_json"),
    ("deep", b"[" * 100_000 + b"]" * 100_000, JSON, 400, "invalid_json"),
    ("deep objects", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, JSON, 400, "invalid_json"),
    ("too many objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, JSON, 422, "invalid_input"),
    ("deep in a field", DEEP_FIELD, JSON, 400, "invalid_json"),
    ("a list", b"[]", JSON, 422, "invalid_spec"),
    ("null", b"null", JSON, 422, "invalid_spec"),
    ("ten megabytes", b'"' + b"x" * 10_000_000 + b'"', JSON, 413, "too_large"),
    ("no content type", json.dumps(SPEC).encode(), {}, 415, "unsupported_media_type"),
    (
        "a form",
        b"version=1",
        {"content-type": "application/x-www-form-urlencoded"},
        415,
        "unsupported_media_type",
    ),
    ("YAML", b"version: 1", {"content-type": "application/yaml"}, 415, "unsupported_media_type"),
    (
        "compressed",
        b"\x1f\x8b",
        {**JSON, "content-encoding": "gzip"},
        415,
        "unsupported_media_type",
    ),
]


def check_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["type"] == f"urn:ipulse:problem:{problem['code']}"
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["instance"] == response.request.url.path
    assert "Traceback" not in response.text
    assert len(response.content) < 50_000
    return problem


class TestBadInput:
    @pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:validate"])
    @pytest.mark.parametrize(
        ("spec", "status", "pointer"),
        [pytest.param(*case, id=name) for name, *case in BAD_SPECS],
    )
    def test_a_wrong_field_is_named_and_nothing_stored(
        self, service: InProcess, path: str, spec: Any, status: int, pointer: str
    ) -> None:
        before = service.job_count()
        problem = check_problem(service.user.post(path, json=spec), status)
        assert problem["code"] == "invalid_spec"
        assert pointer in [error["pointer"] for error in problem["errors"]]
        assert service.job_count() == before

    @pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:validate"])
    @pytest.mark.parametrize(
        ("body", "headers", "status", "code"),
        [pytest.param(*case, id=name) for name, *case in BAD_BODIES],
    )
    def test_a_wrong_body_is_refused_and_nothing_stored(
        self,
        service: InProcess,
        path: str,
        body: bytes,
        headers: dict[str, str],
        status: int,
        code: str,
    ) -> None:
        before = service.job_count()
        problem = check_problem(service.user.post(path, content=body, headers=headers), status)
        assert problem["code"] == code
        if status in (400, 422):
            assert problem["errors"], "no place is named"
        assert service.job_count() == before

    def test_a_body_of_unknown_length_is_read_only_up_to_the_cap(self, service: InProcess) -> None:
        limit = service.settings.max_body_bytes
        chunks = (b"x" * 100_000 for _ in range(limit // 100_000 + 10))
        response = service.user.post("/v1/jobs", content=chunks, headers=JSON)
        assert check_problem(response, 413)["code"] == "too_large"

    def test_all_problems_are_reported_at_once(self, service: InProcess) -> None:
        spec = {"version": 1, "seed": -1, "network": {"layers": [{"neurons": 0}, {}]}}
        problem = check_problem(service.user.post("/v1/jobs", json=spec), 422)
        assert {error["pointer"] for error in problem["errors"]} == {
            "/seed",
            "/network/layers/0/neurons",
            "/network/layers/1/neurons",
        }


class TestAccepted:
    def test_the_answer_is_the_job_and_where_it_is(self, service: InProcess) -> None:
        response = service.user.post("/v1/jobs", json=changed(metadata={"who": "me"}))
        assert response.status_code == 202
        job = response.json()
        assert response.headers["location"] == f"/v1/jobs/{job['id']}"
        assert response.headers["etag"].startswith('"1-')
        assert job["state"] == "queued"
        assert job["attempt"] == 0
        assert job["metadata"] == {"who": "me"}
        assert job["spec"] == spec_to_json(parse_spec(changed(metadata={"who": "me"})))
        assert {**service.job(job["id"]), "waiting_on": None} == job

    def test_names_in_any_script_come_back_as_they_were(self, service: InProcess) -> None:
        name = "naïve 実験 🧠"
        assert service.submit(changed(name=name))["name"] == name

    def test_validation_returns_the_resolved_spec_and_stores_nothing(
        self, service: InProcess
    ) -> None:
        before = service.job_count()
        response = service.user.post("/v1/jobs:validate", json=SPEC)
        assert response.status_code == 200
        validated = response.json()
        assert validated["valid"] is True
        assert service.job_count() == before
        job = service.submit()
        assert validated["spec"] == job["spec"]
        assert validated["spec_sha256"] == job["spec_sha256"]

    def test_the_order_of_fields_and_written_defaults_do_not_change_the_digest(
        self, service: InProcess
    ) -> None:
        written = spec_to_json(parse_spec(SPEC))
        reordered = json.loads(strict_json.dumps(written))
        assert service.submit(reordered)["spec_sha256"] == service.submit()["spec_sha256"]
