"""Bodies: schema and server agree on numbers and lengths, and no body stops other requests."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # stubs not locked

from ipulse.models import validate
from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse.spec.network.layers import MAX_NEURONS
from ipulse_core import strict_json
from ipulse_core.messages import EVENTS_PER_COMMIT, EVENTS_PER_REQUEST
from ipulse_service.http import payloads
from tests.ipulse.strategies import specs
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

JSON = {"content-type": "application/json"}


def as_floats(value: Any) -> Any:
    """The same document with each integer written as a float: 1.0 for 1."""
    if isinstance(value, dict):
        return {name: as_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if type(value) is int and abs(value) < 2**53 else value


@pytest.mark.sample(0)
@given(specs())
@settings(max_examples=25)
def test_schema_and_parser_take_a_whole_float_for_an_integer(spec: ExperimentSpec) -> None:
    document = as_floats(spec_to_json(spec))
    Draft202012Validator(ExperimentSpec.model_json_schema()).validate(document)
    read = strict_json.loads(json.dumps(document), whole_as_int=True)
    assert spec_to_json(parse_spec(read)) == spec_to_json(spec)


def test_one_and_one_point_zero_are_one_spec(service: InProcess) -> None:
    def validated(text: str) -> Any:
        return service.user.post("/v1/jobs:validate", content=text, headers=JSON)

    text = '{"version": 1, "seed": 7, "network": {"layers": [{"neurons": 4, "decay": 0}]}}'
    floats = (
        text.replace("1", "1.0").replace("7", "7e0").replace("4", "0.4e1").replace("0}", "-0.0}")
    )
    assert validated(floats).json() == validated(text).json()
    for part, pointer in (("1.5", "/seed"), ("1e300", "/seed"), ("-0.5", "/seed")):
        problem = check_problem(validated(text.replace("7", part)), 422)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]


@pytest.mark.sample(0)
def test_the_longest_list_of_the_schema_fits_the_body(service: InProcess) -> None:
    decays = np.random.default_rng(1).uniform(0.0, 1.0, MAX_NEURONS)
    # A number takes up to 24 characters: 17 digits and an exponent.
    numbers = [float(f"{decay:.16e}") * 1e-301 for decay in decays]
    assert max(len(repr(number)) for number in numbers) >= 23
    layer = {"neurons": MAX_NEURONS, "decay": numbers, "threshold": [1.0 / 3.0] * MAX_NEURONS}
    schema = Draft202012Validator(ExperimentSpec.model_json_schema())
    spec = {**SPEC, "network": {"layers": [layer]}, "training": {"batch_size": 1}}
    schema.validate(spec)
    answer = service.user.post("/v1/jobs:validate", json=spec)
    assert answer.status_code == 200, answer.text[:300]
    assert answer.json()["spec"]["network"]["layers"][0]["decay"] == numbers
    layer["decay"] = [*numbers, 0.5]
    assert not schema.is_valid(spec)
    problem = check_problem(service.user.post("/v1/jobs:validate", json=spec), 422)
    assert problem["errors"][0]["pointer"] == "/network/layers/0/decay"


def test_other_requests_are_answered_while_a_large_body_is_checked(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def check(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(60), "nothing else was answered meanwhile"
        return validate(*arguments)

    monkeypatch.setattr(payloads, "validate", check)
    layer = {"neurons": 9, "decay": ["wrong"] * 20_000}
    with ThreadPoolExecutor(1) as pool:
        spec = {**SPEC, "network": {"layers": [layer]}}
        answer = pool.submit(service.user.post, "/v1/jobs:validate", json=spec)
        assert begun.wait(60)
        assert service.worker.get("/healthz").status_code == 200
        go_on.set()
        problem = check_problem(answer.result(), 422)
    assert problem["errors"][0]["pointer"] == "/network/layers/0/decay/0"
    assert problem["errors"][-1]["code"] == "too_many_problems"


@pytest.mark.parametrize(
    "events",
    [
        [{"kind": "wrong"}] * 30_000,
        [{"kind": "lines", "messages": [1] * 300_000}],
        [{"kind": "lines", "messages": [1] * 3_000}] * 4,
    ],
    ids=["events", "lines", "lines of several events"],
)
def test_too_many_events_are_refused_by_their_number(service: InProcess, events: Any) -> None:
    attempt = service.attempt(service.submit()["id"])
    for path, more, most in (
        ("events", {"first": 1}, EVENTS_PER_REQUEST),
        ("finish", {"reason": "diverged"}, EVENTS_PER_COMMIT),
    ):
        problem = check_problem(attempt.post(path, {**more, "events": events}), 422)
        [error] = problem["errors"]
        assert (error["pointer"], error["code"]) == ("/events", "wrong_length")
        assert f"{most:,}" in error["detail"]


def test_lists_and_fields_are_counted_before_a_body_is_read(service: InProcess) -> None:
    path = "/v1/jobs:validate"
    fields = {f"k{number}": 0 for number in range(200_000)}
    bodies: list[dict[str, Any]] = [{**fields}, {"seed": [[]] * 200_000}]
    for body in bodies:
        problem = check_problem(service.user.post(path, json=body), 422)
        assert [error["code"] for error in problem["errors"]] == ["too_many_parts"]
    unknown = {f"k{number:020}": 0 for number in range(2_000)}
    problem = check_problem(service.user.post(path, json={**SPEC, **unknown}), 422)
    assert problem["errors"][0]["pointer"] == f"/k{0:020}"
    assert (problem["errors"][-1]["code"], len(problem["errors"])) == ("too_many_problems", 101)
    attempt = service.attempt(service.submit()["id"])
    problem = check_problem(attempt.post("finish", {"reason": "diverged", **unknown}), 422)
    assert (problem["errors"][-1]["code"], len(problem["errors"])) == ("too_many_problems", 101)
    brackets = {"kind": "log", "message": '[{":\\' * 150}
    assert attempt.report(*[brackets] * 1_000).status_code == 200


def test_too_many_kinds_of_devices_are_refused_by_their_number(service: InProcess) -> None:
    body = {"agent": "a", "device_kinds": [1] * 300_000, "quarantined": [1] * 300_000}
    problem = check_problem(service.worker.post("/v1/worker/agents", json=body), 422)
    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"/device_kinds", "/quarantined"}
