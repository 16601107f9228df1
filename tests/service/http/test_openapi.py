"""The OpenAPI document matches the spec, the responses and the errors of the service."""

from __future__ import annotations

import json
from typing import Any

import openapi_spec_validator
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # stubs not locked

from ipulse.models import StrictModel
from ipulse.spec import ExperimentSpec, PoplarProgramSpec, ScriptSpec, parse_job_spec, parse_spec
from ipulse.spec.version_2 import experiment
from ipulse_service.http.openapi import describe_object_defaults
from ipulse_service.jobs.events import KINDS
from tests.service.agents import METRIC
from tests.service.running import SPEC, InProcess

# Fields that an example omits, since they have defaults.
OPTIONAL = {
    "UserInfo": {"subject"},
    "TokenRequest": {"user"},  # instead of the role
    "ExperimentSpec": {"metadata", "export", "profile"},
    "FinishRequest": {"kind"},
}


# Probes, and what people and programs ask for before they have a token.
OPEN = {
    *("/healthz", "/readyz", "/v1/auth", "/v1/auth/login", "/v1/auth/callback"),
    *("/v1/auth/device", "/v1/auth/device/token"),
}


@pytest.fixture(scope="module")
def document(service: InProcess) -> dict[str, Any]:
    response = service.user.get("/openapi.json")
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


def check(document: dict[str, Any], method: str, path: str, answer: Any, status: int = 200) -> None:
    """Asserts that an answer is one of those that the document describes, and hides nothing."""
    media_type = "application/json" if status < 400 else "application/problem+json"
    responses = document["paths"][path][method]["responses"]
    described = responses[str(status)]["content"][media_type]["schema"]
    whole = {**described, "components": document["components"]}
    Draft202012Validator(whole).validate(answer)
    while "$ref" in described:
        described = document["components"]["schemas"][described["$ref"].rpartition("/")[2]]
    assert set(answer) == set(described["properties"])


def without_nulls(value: Any) -> Any:
    """FastAPI leaves nulls out of its document, also those that are defaults."""
    if isinstance(value, dict):
        return {k: without_nulls(item) for k, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:validate"])
@pytest.mark.parametrize("model", [ExperimentSpec, experiment(), PoplarProgramSpec, ScriptSpec])
def test_the_body_is_the_spec_of_a_job(
    document: dict[str, Any], path: str, model: type[StrictModel]
) -> None:
    name, schemas = model.__name__, document["components"]["schemas"]
    body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    members = [part["$ref"].rpartition("/")[2] for part in body["schema"]["oneOf"]]
    assert name in members
    described = schemas[name]
    expected = model.model_json_schema(ref_template="#/components/schemas/{model}")
    parts = {**without_nulls(expected.pop("$defs")), name: without_nulls(expected)}
    describe_object_defaults(parts)
    expected = parts.pop(name)
    assert {**described, "examples": []} == {**expected, "examples": []}
    assert parts.items() <= schemas.items()
    [example] = described["examples"]
    assert isinstance(parse_job_spec(example), (ExperimentSpec, PoplarProgramSpec, ScriptSpec))


def test_no_default_is_an_object_and_each_is_described(document: dict[str, Any]) -> None:
    """Generators of clients refuse such defaults, and leave the whole schema out."""
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        for described in schema.get("properties", {}).values():
            default = described.get("default")
            for value in default if isinstance(default, list) else [default]:
                assert not isinstance(value, dict)
    spec = schemas["ExperimentSpec"]["properties"]
    for name, default in (("data", {"kind": "digits"}), ("training", {}), ("metadata", {})):
        assert f"`{json.dumps(default)}`" in spec[name]["description"]
        parse_spec({**SPEC, name: default})


def test_every_body_and_answer_has_a_schema(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            for body in bodies:
                for media_type, content in body.get("content", {}).items():
                    assert "schema" in content, (method, path, media_type)


def test_every_event_is_as_described(service: InProcess, document: dict[str, Any]) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    progress = {"kind": "progress", "phase": "prepare", "fraction": 0.5, "message": "half"}
    checkpoint = {"kind": "checkpoint", "path": "a.ckpt", "epoch": 1, "step": 2}
    log = {"kind": "log", "message": "x", "level": "info", "stream": "runner"}
    phase = {"kind": "phase", "phase": "prepare"}
    assert attempt.report(phase, progress, METRIC, log, checkpoint).status_code == 200
    attempt.finish("diverged")
    schema = {"$ref": "#/components/schemas/JobEvent", "components": document["components"]}
    stored = service.events(job_id)["events"]
    for event in stored:
        Draft202012Validator(schema).validate(event)
    assert {event["kind"] for event in stored} == set(KINDS)
    with service.user.stream("GET", f"/v1/jobs/{job_id}/events/stream") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in stream.iter_lines() if line.startswith("data: ")]
    messages = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert messages[:-1] == stored
    schema["$ref"] = "#/components/schemas/StreamEnd"
    Draft202012Validator(schema).validate(messages[-1])


def test_every_body_and_every_answer_has_an_example_that_is_one(document: dict[str, Any]) -> None:
    named = {"ProblemDocument", "NirProblem"}
    for operations in document["paths"].values():
        for operation in operations.values():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            for body in bodies:
                schema = body.get("content", {}).get("application/json", {}).get("schema", {})
                named.add(schema.get("$ref", "").rpartition("/")[2])
    named -= {""}  # files
    schemas = document["components"]["schemas"]
    for name in sorted(named):
        whole = {**schemas[name], "components": document["components"]}
        assert "examples" in schemas[name], name
        [example] = schemas[name]["examples"]
        Draft202012Validator(whole).validate(example)
        assert set(example) == set(schemas[name]["properties"]) - OPTIONAL.get(name, set())


def test_every_answer_is_as_described(service: InProcess, document: dict[str, Any]) -> None:
    job = service.submit()
    check(document, "post", "/v1/jobs", job, 202)
    validated = service.user.post("/v1/jobs:validate", json=SPEC).json()
    check(document, "post", "/v1/jobs:validate", validated)
    attempt = service.attempt(job["id"])
    check(document, "post", "/v1/worker/claims", attempt.claim)
    attempts = "/v1/worker/attempts/{attempt_id}"
    check(document, "post", f"{attempts}/heartbeat", attempt.heartbeat().json())
    check(document, "post", f"{attempts}/events", attempt.report(METRIC).json())
    stored = attempt.put("a.ckpt", "checkpoint")
    check(document, "put", attempts + "/artifacts/{name}", stored.json(), 201)
    check(document, "post", f"{attempts}/finish", attempt.finish("diverged").json())
    path = f"/v1/jobs/{job['id']}"
    check(document, "get", "/v1/jobs/{job_id}", service.job(job["id"]))
    check(document, "post", "/v1/jobs/{job_id}/cancel", service.user.post(f"{path}/cancel").json())
    check(document, "get", "/v1/jobs", service.user.get("/v1/jobs").json())
    check(document, "get", "/v1/jobs/{job_id}/events", service.events(job["id"]))
    artifacts = service.user.get(f"{path}/artifacts").json()
    check(document, "get", "/v1/jobs/{job_id}/artifacts", artifacts)
    problem = service.user.post("/v1/jobs", json={}).json()
    check(document, "post", "/v1/jobs", problem, 422)


def test_every_operation_needs_a_token_but_those_that_are_open(
    document: dict[str, Any],
) -> None:
    is_open = {
        path
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if not operation.get("security")
    }
    assert is_open == OPEN


def test_errors_are_described_as_problem_documents(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            errors = {s: r for s, r in operation["responses"].items() if s[0] in "45"}
            needs_token = path not in OPEN
            assert {"400", "500", "503", "4XX"} <= set(errors)
            assert ({"401", "403", "429"} <= set(errors)) is needs_token
            for status, response in errors.items():
                if method == "head":
                    assert "content" not in response
                    continue
                content = response["content"]["application/problem+json"]
                has_choices = (path, status) == ("/v1/networks:import", "422")
                name = "NirProblem" if has_choices else "ProblemDocument"
                # RFC 6749, section 5.2, has a form of its own for refused grants.
                is_grant = (
                    path == "/v1/auth/device/token" and "application/json" in response["content"]
                )
                assert len(response["content"]) == 1 + is_grant
                assert content["schema"] == {"$ref": f"#/components/schemas/{name}"}
    schemas = document["components"]["schemas"]
    assert "HTTPValidationError" not in schemas
    added = schemas["NirProblem"]["properties"].keys() - schemas["ProblemDocument"]["properties"]
    assert added == {"choices"}


def test_it_is_a_valid_openapi_document(document: dict[str, Any]) -> None:
    openapi_spec_validator.validate(document)


def test_operations_have_readable_names_and_summaries(document: dict[str, Any]) -> None:
    operations = [one for item in document["paths"].values() for one in item.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names) > 20
    assert {"submit_job", "list_jobs", "get_job", "claim_job"} <= set(names)
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"]
