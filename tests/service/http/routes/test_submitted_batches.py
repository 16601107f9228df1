"""Several specs in one request: all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.conditions import eventually
from tests.service.datasets.uploading import check_refused
from tests.service.running import SPEC, InProcess

TEXT = "version: 1  # my first network\nname: small\nnetwork: {layers: [{neurons: 4}]}\n"


@pytest.fixture(autouse=True)
def empty_queue(service: InProcess) -> Iterator[None]:
    """Leaves no job that another test's agent would claim first."""
    yield
    service.user.post("/v1/jobs:cancel", params={"all": "true"})


def body(*jobs: dict[str, Any]) -> dict[str, Any]:
    return {"jobs": [{"spec": SPEC, **job} for job in jobs]}


def count(service: InProcess, group: str) -> int:
    response = service.user.get("/v1/jobs", params={"q": f"group:{group}", "count": "true"})
    total: int = response.json()["total"]
    return total


def test_each_job_has_its_attributes_in_the_order_of_the_request(service: InProcess) -> None:
    named = [{"spec": {**SPEC, "name": f"part-{n}"}, "priority": n} for n in range(3)]
    response = service.user.post("/v1/jobs:batch", json=body(*named, {"tags": ["b", "a"]}))
    assert response.status_code == 202, response.text
    answers = response.json()["jobs"]
    assert [one["pointer"] for one in answers] == [f"/jobs/{n}" for n in range(4)]
    assert [one["job"]["priority"] for one in answers] == [0, 1, 2, 0]
    assert answers[3]["job"]["tags"] == ["a", "b"]
    for one, wanted in zip(answers, named, strict=False):
        stored = service.job(one["job"]["id"])
        assert stored["name"] == wanted["spec"]["name"]
        assert stored == one["job"] | {"waiting_on": stored["waiting_on"]}


def test_one_wrong_spec_and_none_is_stored(service: InProcess) -> None:
    wrong = body({"group": "none"}, {"group": "none", "spec": {**SPEC, "seed": -1}}, {"x": 1})
    response = service.user.post("/v1/jobs:batch", json=wrong)
    assert response.status_code == 422
    assert {one["pointer"] for one in response.json()["errors"]} == {
        "/jobs/1/spec/seed",
        "/jobs/2/x",
    }
    assert count(service, "none") == 0


def test_what_only_the_database_knows_is_also_all_or_nothing(service: InProcess) -> None:
    missing = "job_000000000000000000000000"
    owns = {"data": {"kind": "npz", "dataset": "nobody-has-it"}}
    wrong = body(
        {"group": "half"},
        {"group": "half", "spec": {**SPEC, **owns}},
        {"group": "half", "after": [missing]},
        {"group": "half", "after": ["/jobs/1"]},
    )
    response = service.user.post("/v1/jobs:batch", json=wrong)
    assert response.status_code == 422, response.text
    assert [one["pointer"] for one in response.json()["errors"]] == [
        "/jobs/1/spec/data/dataset",
        "/jobs/2",
    ]
    assert count(service, "half") == 0


def test_a_job_waits_for_an_earlier_one_of_the_request(service: InProcess) -> None:
    response = service.user.post("/v1/jobs:batch", json=body({}, {"after": ["/jobs/0:failure"]}))
    first, second = (one["job"] for one in response.json()["jobs"])
    assert (first["state"], second["state"]) == ("queued", "blocked")
    service.attempt(first["id"]).finish("diverged")
    eventually(lambda: service.job(second["id"])["state"] == "queued")


def test_only_earlier_jobs_can_be_named(service: InProcess) -> None:
    for text in ("/jobs/1", "/jobs/2", "/jobs/-1", "jobs/0", "/jobs/0:ok", "/jobs/0/spec"):
        response = service.user.post("/v1/jobs:batch", json=body({}, {"after": [text]}))
        check_refused(response, 422, "invalid_spec")
        assert response.json()["errors"][0]["pointer"] == "/jobs/1/after/0"


def test_a_key_returns_the_same_jobs(service: InProcess) -> None:
    key = {"idempotency-key": "batch-once"}
    wanted = body({"group": "once"}, {"group": "once", "tags": ["two"]})
    first, again = (service.user.post("/v1/jobs:batch", json=wanted, headers=key) for _ in "ab")
    ids = [[one["job"]["id"] for one in made.json()["jobs"]] for made in (first, again)]
    assert ids[0] == ids[1]
    assert again.headers["idempotency-replayed"] == "true"
    assert count(service, "once") == 2
    other = service.user.post("/v1/jobs:batch", json=body({"group": "once"}), headers=key)
    check_refused(other, 422, "idempotency_key_reused")
    single = service.user.post("/v1/jobs", json=SPEC, headers=key)
    check_refused(single, 422, "idempotency_key_reused")
    service.user.post(f"/v1/jobs/{ids[0][1]}/cancel")
    assert service.user.delete(f"/v1/jobs/{ids[0][1]}").status_code == 204
    deleted = service.user.post("/v1/jobs:batch", json=wanted, headers=key)
    check_refused(deleted, 409, "jobs_deleted")
    assert count(service, "once") == 1


def test_the_key_of_a_single_job_is_that_of_a_batch_of_one(service: InProcess) -> None:
    key = {"idempotency-key": "single-or-batch"}
    job = service.submit(SPEC, **key)
    batch = service.user.post("/v1/jobs:batch", json=body({}), headers=key)
    assert batch.json()["jobs"][0]["job"]["id"] == job["id"]


def test_how_many(service: InProcess) -> None:
    for jobs in ([], [{}] * 501):
        response = service.user.post("/v1/jobs:batch", json=body(*jobs))
        check_refused(response, 422, "invalid_spec")
        assert response.json()["errors"][0]["pointer"] == "/jobs"
    many = service.user.post("/v1/jobs:batch", json=body(*[{"group": "many"}] * 500))
    assert len(many.json()["jobs"]) == 500


def test_code_needs_its_right_in_a_batch_too(service: InProcess) -> None:
    program = {
        "version": 1,
        "kind": "poplar_program",
        "sources": ["main.cpp"],
        "package": "sha256:" + "0" * 64,
    }
    issued = {"name": "plain", "role": "user", "seconds": 600}
    token = service.user.post("/v1/tokens", json=issued).json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    wanted = body({"group": "code"}, {"spec": program})
    response = service.user.post("/v1/jobs:batch", json=wanted, headers=headers)
    check_refused(response, 403, "code_not_permitted")
    assert count(service, "code") == 0


class TestSubmittedText:
    """The text of a spec as its author wrote it."""

    def test_the_text_of_each_job_is_kept(self, service: InProcess) -> None:
        wanted = body({"submitted": {"form": "yaml", "text": TEXT}}, {})
        first, second = service.user.post("/v1/jobs:batch", json=wanted).json()["jobs"]
        place = f"/v1/jobs/{first['job']['id']}/spec"
        kept = service.user.get(place, params={"form": "submitted"})
        assert kept.json() == {"form": "submitted", "format": "yaml", "text": TEXT}
        whole = service.user.get(place).json()
        assert whole["form"] == "resolved"
        assert "batch_size" in whole["text"]
        other = service.user.get(
            f"/v1/jobs/{second['job']['id']}/spec", params={"form": "submitted"}
        )
        check_refused(other, 404, "spec_not_kept")

    def test_the_body_of_a_single_submission_is_kept(self, service: InProcess) -> None:
        text = '{"network": {"layers": [ {"neurons": 4} ]}, "version": 1}'
        headers = {"content-type": "application/json"}
        job = service.user.post("/v1/jobs", content=text, headers=headers).json()
        kept = service.user.get(f"/v1/jobs/{job['id']}/spec", params={"form": "submitted"}).json()
        assert (kept["format"], kept["text"]) == ("json", text)

    def test_a_long_text_is_left_out_or_refused(self, service: InProcess) -> None:
        long = {"form": "yaml", "text": "#" * 300_000}
        response = service.user.post("/v1/jobs:batch", json=body({"submitted": long}))
        check_refused(response, 422, "invalid_spec")
        spaced = '{"version": 1,' + " " * 300_000 + '"network": {"layers": [{"neurons": 4}]}}'
        headers = {"content-type": "application/json"}
        job = service.user.post("/v1/jobs", content=spaced, headers=headers).json()
        place = f"/v1/jobs/{job['id']}/spec"
        check_refused(service.user.get(place, params={"form": "submitted"}), 404, "spec_not_kept")

    def test_it_is_deleted_with_the_job(self, service: InProcess) -> None:
        job = service.submit()
        service.user.post(f"/v1/jobs/{job['id']}/cancel")
        assert service.user.delete(f"/v1/jobs/{job['id']}").status_code == 204
        check_refused(service.user.get(f"/v1/jobs/{job['id']}/spec"), 404, "not_found")

    def test_control_characters_are_refused(self, service: InProcess) -> None:
        wrong = {"form": "yaml", "text": "name: \x1b[2J"}
        response = service.user.post("/v1/jobs:batch", json=body({"submitted": wrong}))
        check_refused(response, 422, "invalid_spec")
        assert response.json()["errors"][0]["pointer"] == "/jobs/0/submitted/text"
