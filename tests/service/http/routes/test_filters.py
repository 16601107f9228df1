"""Lists of some jobs only; on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_service.jobs.search import listing
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def jobs(service: InProcess) -> dict[str, str]:
    """Ids by a name of our own."""
    specs: dict[str, dict[str, Any]] = {
        "red": {"metadata": {"team": "red", "0": "zero"}, "training": {"epochs": 7}},
        "blue": {"metadata": {"team": "blue=green"}, "seed": 3},
        "true": {"metadata": {"team": "true"}, "training": {"epochs": 7}},
    }
    return {
        name: service.submit({**SPEC, "name": name, **more})["id"] for name, more in specs.items()
    }


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"label": "team=red"}, ["red"]),
        ({"label": "team=blue=green"}, ["blue"]),
        ({"label": "team=true"}, ["true"]),
        ({"label": "0=zero"}, ["red"]),
        ({"label": "team=nobody"}, []),
        ({"label": ["team=red", "0=zero"]}, ["red"]),
        ({"label": ["team=red", "0=one"]}, []),
        ({"field": "/training/epochs=7"}, ["true", "red"]),
        ({"field": "/training/epochs=7.0"}, ["true", "red"]),
        ({"field": ["/training/epochs=7", "/name=red"]}, ["red"]),
        ({"field": "/network/layers/0/neurons=4"}, ["true", "blue", "red"]),
        ({"field": "/network/layers/9/neurons=4"}, []),
        ({"field": "/seed=3"}, ["blue"]),
        ({"field": "/seed=true"}, []),
        ({"field": "/name=blue"}, ["blue"]),
        ({"device": "cpu"}, ["true", "blue", "red"]),
        ({"device": "ipu"}, []),
        ({"state": "queued", "label": "team=red"}, ["red"]),
        ({"created_after": "2020-01-01T00:00:00Z"}, ["true", "blue", "red"]),
        ({"created_before": "2020-01-01T00:00:00+02:00"}, []),
    ],
)
def test_only_what_was_asked_for_is_listed(
    service: InProcess, jobs: dict[str, str], query: dict[str, Any], names: list[str]
) -> None:
    response = service.user.get("/v1/jobs", params=query)
    assert response.status_code == 200, response.text
    assert [job["id"] for job in response.json()["jobs"]] == [jobs[name] for name in names]


def test_the_beginning_of_an_id_finds_the_job(service: InProcess, jobs: dict[str, str]) -> None:
    for job_id in jobs.values():
        for length in (20, len(job_id)):
            page = service.user.get("/v1/jobs", params={"id_prefix": job_id[:length]}).json()
            assert [job["id"] for job in page["jobs"]] == [job_id]
    page = service.user.get("/v1/jobs", params={"id_prefix": "job_"}).json()
    assert [job["id"] for job in page["jobs"]] == [*reversed(jobs.values())]


def test_a_page_token_is_good_for_its_filters_only(
    service: InProcess, jobs: dict[str, str]
) -> None:
    query = {"page_size": 1, "field": "/training/epochs=7"}
    page = service.user.get("/v1/jobs", params=query).json()
    following = {**query, "page_token": page["next_page_token"]}
    [job] = service.user.get("/v1/jobs", params=following).json()["jobs"]
    assert job["id"] == jobs["red"]
    following["field"] = "/training/epochs=8"
    problem = check_problem(service.user.get("/v1/jobs", params=following), 400)
    assert problem["errors"][0]["code"] == "filters_changed"


def test_a_page_opens_so_many_specs_and_the_next_continues(
    service: InProcess, jobs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "EXAMINED", 1)
    query = {"label": "team=red"}
    pages = []
    while not pages or query["page_token"]:
        page = service.user.get("/v1/jobs", params=query).json()
        pages.append([job["id"] for job in page["jobs"]])
        query["page_token"] = page["next_page_token"]
    assert pages == [[], [], [jobs["red"]]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("label", "team"),
        ("label", "te\x01am=x"),
        ("field", "epochs=7"),
        ("field", "/a/=1"),
        ("field", "/data={}"),
        ("field", "/seed=" + "9" * 30),
        ("field", "/seed=-1e400"),
        ("field", '/name="\\u0000"'),
        ("id_prefix", "job_%"),
        ("id_prefix", "job_" + "0" * 25),
        ("created_after", "yesterday"),
        ("created_after", "2026-01-01T"),
    ],
)
def test_an_invalid_filter_is_refused_with_its_name(
    service: InProcess, name: str, value: str
) -> None:
    problem = check_problem(service.user.get("/v1/jobs", params={name: value}), 400)
    assert problem["errors"][0]["pointer"].startswith(f"/query/{name}")
    assert "pattern" not in problem["errors"][0]["detail"]  # of no use to a reader
