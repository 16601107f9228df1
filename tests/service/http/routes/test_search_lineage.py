"""Searches by what a job started from, its lineage and its data; every field is a column."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_service.jobs.search.fields import FIELDS
from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import push
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


def found(service: InProcess, query: str, **more: Any) -> list[str]:
    response = service.user.get("/v1/jobs", params={"q": query, **more})
    assert response.status_code == 200, response.text
    return [job["id"] for job in response.json()["jobs"]]


def trained(service: InProcess, parent: str | None = None) -> str:
    """A job that has ended and left weights; it starts from another one."""
    query = {} if parent is None else {"start_from": parent, "start_mode": "weights"}
    response = service.user.post("/v1/jobs", json=SPEC, params=query)
    assert response.status_code == 202, response.text
    job_id = str(response.json()["id"])
    attempt = service.attempt(job_id)
    assert attempt.put("weights.npz", "weights", b"weights").status_code == 201
    attempt.complete()
    return job_id


def test_a_lineage(service: InProcess) -> None:
    first = trained(service)
    left, right = trained(service, first), trained(service, first)
    grandchild = trained(service, left)
    other = trained(service)
    assert set(found(service, f"start_from:{first}")) == {left, right}
    assert found(service, f"start_from:{left[4:12]}") == [grandchild]
    assert set(found(service, f"lineage:{left}")) == {first, left, grandchild}
    assert set(found(service, f"lineage:{first[4:]}")) == {first, left, right, grandchild}
    assert found(service, f"lineage:{other}") == [other]
    assert found(service, "lineage:job_000000000000000000000000") == []
    assert other in found(service, "start_from:null", page_size=500)
    assert left not in found(service, "start_from:null", page_size=500)
    # Jobs that a deleted job connects are not found, but its children still are by its id.
    assert service.user.delete(f"/v1/jobs/{left}").status_code == 204
    assert set(found(service, f"lineage:{first}")) == {first, right}
    assert found(service, f"start_from:{left}") == [grandchild]


def test_a_data_set(service: InProcess) -> None:
    version = push(service, spikes())
    name = version["dataset"]
    spec = {**SPEC, "data": {"kind": "npz", "dataset": name}}
    job = service.user.post("/v1/jobs", json=spec).json()["id"]
    for query in (f"dataset:{name}", f"dataset:{name}@1", f"dataset:{name[:6]}*"):
        assert job in found(service, query), query
    assert found(service, f"dataset:{name}@2") == []
    assert found(service, f"dataset:{name[:-1]}") == []
    assert job in found(service, "dataset:*", page_size=500)
    assert job not in found(service, "dataset:null", page_size=500)
    listed = service.user.get("/v1/jobs", params={"q": f"id:{job}", "columns": "dataset"}).json()
    assert listed["jobs"][0]["values"] == {"dataset": f"{name}@1"}
    offered = service.user.get("/v1/jobs:suggest", params={"q": "dataset:", "at": 8}).json()
    assert name in str(offered)
    service.user.post(f"/v1/jobs/{job}/cancel")


def test_every_field_is_a_column_and_an_order(service: InProcess) -> None:
    job = service.submit()["id"]
    for name in FIELDS:
        query = {"q": f"id:{job}", "columns": name, "sort": f"-{name}"}
        response = service.user.get("/v1/jobs", params=query)
        assert response.status_code == 200, (name, response.text)
        assert set(response.json()["jobs"][0]["values"]) == {name}
        for value in ("*", "null", "x"):
            response = service.user.get("/v1/jobs", params={"q": f"{name}:{value}"})
            assert response.status_code in (200, 422), (name, value, response.text)
    service.user.post(f"/v1/jobs/{job}/cancel")


@pytest.mark.parametrize("query", ["lineage<3", "dataset>mine", "start_from<=x"])
def test_texts_are_not_ordered(service: InProcess, query: str) -> None:
    assert check_problem(service.user.get("/v1/jobs", params={"q": query}), 422)
