"""Tags, groups, notes and names of jobs; on both databases."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess


def submitted(service: InProcess, **query: Any) -> dict[str, Any]:
    response = service.user.post("/v1/jobs", json=SPEC, params=query)
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    return job


def patch(service: InProcess, job_id: str, **changes: Any) -> httpx.Response:
    return service.user.patch(f"/v1/jobs/{job_id}", json=changes)


def pointers(response: httpx.Response, status: int) -> list[str]:
    return [error["pointer"] for error in check_problem(response, status)["errors"]]


def test_a_job_has_the_attributes_of_its_submission(service: InProcess) -> None:
    job = submitted(service, tag=["wide", "baseline", "wide"], group="lr-1", notes="# First\n")
    assert (job["tags"], job["group"], job["notes"]) == (["baseline", "wide"], "lr-1", "# First\n")
    assert service.job(job["id"]) == {**job, "waiting_on": service.job(job["id"])["waiting_on"]}
    [listed] = service.user.get("/v1/jobs", params={"id_prefix": job["id"]}).json()["jobs"]
    assert (listed["tags"], listed["group"]) == (["baseline", "wide"], "lr-1")
    assert "notes" not in listed, "a list of long notes would be large"


def test_all_attributes_change_at_once(service: InProcess) -> None:
    job_id = submitted(service, tag=["a", "b"], group="old")["id"]
    changes = {"name": "neu", "notes": "ü", "add_tags": ["c"], "remove_tags": ["a"], "priority": 3}
    job = patch(service, job_id, **changes, group="new").json()
    assert (job["name"], job["notes"], job["priority"]) == ("neu", "ü", 3)
    assert (job["tags"], job["group"]) == (["b", "c"], "new")
    assert job["spec"]["name"] == SPEC["name"]
    assert patch(service, job_id, tags=[], group="", notes="").json()["tags"] == []
    job = service.job(job_id)
    assert (job["group"], job["notes"], job["name"]) == (None, "", "neu")


def test_an_ended_job_keeps_its_priority_and_nothing_else_changes(service: InProcess) -> None:
    job_id = submitted(service)["id"]
    service.user.post(f"/v1/jobs/{job_id}/cancel")
    response = patch(service, job_id, priority=5, add_tags=["late"])
    assert check_problem(response, 409)["code"] == "illegal_transition"
    assert service.job(job_id)["tags"] == []
    assert patch(service, job_id, add_tags=["late"], notes="why").json()["tags"] == ["late"]


def test_a_change_has_a_new_etag_and_respects_if_match(service: InProcess) -> None:
    job_id = submitted(service)["id"]
    path = f"/v1/jobs/{job_id}"
    before = service.user.get(path).headers["etag"]
    response = service.user.patch(path, json={"notes": "1"}, headers={"if-match": before})
    assert response.status_code == 200
    assert response.headers["etag"] != before
    response = service.user.patch(path, json={"notes": "2"}, headers={"if-match": before})
    check_problem(response, 412)
    same = patch(service, job_id, notes="1")
    assert same.headers["etag"] == service.user.get(path).headers["etag"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({}, ""),
        ({"tags": ["ok", "Not ok"]}, "/tags/1"),
        ({"add_tags": ["x" * 41]}, "/add_tags/0"),
        ({"add_tags": [""]}, "/add_tags/0"),
        ({"tags": [f"t{n}" for n in range(17)]}, "/tags"),
        ({"add_tags": ["a"], "remove_tags": ["b", "a"]}, "/remove_tags/1"),
        ({"notes": "x" * 16_385}, "/notes"),
        ({"notes": "bell \x07"}, "/notes"),
        ({"name": ""}, "/name"),
        ({"name": "two\nlines"}, "/name"),
        ({"group": "../x"}, "/group"),
        ({"priority": 101}, "/priority"),
        ({"state": "succeeded"}, "/state"),
        ({"tags": "a"}, "/tags"),
    ],
)
def test_a_bad_change_is_refused_with_its_place(
    service: InProcess, changes: dict[str, Any], pointer: str
) -> None:
    job_id = submitted(service)["id"]
    assert pointers(patch(service, job_id, **changes), 422) == [pointer]


def test_a_job_has_at_most_sixteen_tags(service: InProcess) -> None:
    job_id = submitted(service, tag=[f"t{n}" for n in range(16)])["id"]
    assert pointers(patch(service, job_id, add_tags=["one-more"]), 422) == ["/add_tags"]
    assert len(patch(service, job_id, add_tags=["x"], remove_tags=["t0"]).json()["tags"]) == 16


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"tag": ["ok", "no no"]}, "/query/tag/1"),
        ({"group": "-x"}, "/query/group"),
        ({"notes": "x\x00"}, "/query"),
    ],
)
def test_a_bad_attribute_of_a_submission_is_refused(
    service: InProcess, query: dict[str, Any], pointer: str
) -> None:
    response = service.user.post("/v1/jobs", json=SPEC, params=query)
    assert pointers(response, 400) == [pointer]


def test_a_repeated_submission_must_have_the_same_attributes(service: InProcess) -> None:
    headers = {"idempotency-key": "attributes"}

    def submit(**query: Any) -> httpx.Response:
        return service.user.post("/v1/jobs", json=SPEC, params=query, headers=headers)

    first = submit(tag=["a", "b"])
    assert submit(tag=["b", "a"]).json()["id"] == first.json()["id"]
    assert check_problem(submit(tag=["a"]), 422)["code"] == "idempotency_key_reused"
